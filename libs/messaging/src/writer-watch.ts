import { Absence } from './absence.js';
import { TICK_MS } from './heartbeat.js';
import type { Link } from './link.js';

/** Silence after which the reader asks the writer for later frames, and with it the server whether the writer still listens. */
const ASK_TICKS = 1_500 / TICK_MS;

/** Signs of a stream's writer, as its reader sees them: silence, absence and missing frames. */
export class WriterWatch {
  private silentTicks = 0;
  private readonly absence: Absence;
  /** Ticks since a frame is missing, or may be. */
  private gapTicks: number | undefined;

  constructor(private readonly link: Link) {
    this.absence = new Absence(link);
  }

  heard(): void {
    this.silentTicks = 0;
    this.absence.end();
  }

  /** The server has found no listener. Returns true when the writer is gone. */
  notFound(): boolean {
    return this.absence.begin();
  }

  /** A frame is missing. Returns true when the reader must ask for it now; `tick` says when to ask again. */
  missed(): boolean {
    const isNew = this.gapTicks === undefined;
    this.gapTicks ??= 0;
    return isNew;
  }

  /** No frame is missing. */
  complete(): void {
    this.gapTicks = undefined;
  }

  /** Returns `ask` when the reader must ask for later frames, or why the stream is broken. */
  tick(): 'ask' | 'silent' | 'gone' | 'lost' | undefined {
    this.silentTicks++;
    if (this.gapTicks !== undefined) this.gapTicks++;
    if (this.silentTicks >= this.link.silenceTicksMax) return 'silent';
    if (this.absence.tick()) return 'gone';
    if ((this.gapTicks ?? 0) * TICK_MS > this.link.resumeMs) return 'lost';
    return this.gapTicks !== undefined || this.absence.isOpen || this.silentTicks >= ASK_TICKS ? 'ask' : undefined;
  }
}
