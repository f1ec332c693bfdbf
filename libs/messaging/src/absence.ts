import { TICK_MS } from './heartbeat.js';
import type { Link } from './link.js';

/**
 * A process that has lost its connection is back after a few milliseconds while another server runs. One that was killed never is. Until
 * this long after "no responders", the server cannot say which it is.
 */
const GONE_TICKS = 500 / TICK_MS;

/**
 * Decides when the other end of a stream is gone, after the server has found no listener: after half a second without a sign of it, and
 * during a disruption not before the disruption is over. Without resumption it is gone at once.
 */
export class Absence {
  private ticks: number | undefined;

  constructor(private readonly link: Link) {}

  /** True from the first "no responders" to the next sign of the other end. */
  get isOpen(): boolean {
    return this.ticks !== undefined;
  }

  /** Call on "no responders". Returns true when the other end is gone. */
  begin(): boolean {
    this.ticks ??= 0;
    return this.link.resumeMs === 0;
  }

  /** Call on every message of the other end. */
  end(): void {
    this.ticks = undefined;
  }

  /** Returns true when the other end is gone. */
  tick(): boolean {
    return this.ticks !== undefined && ++this.ticks >= GONE_TICKS && !this.link.isDisrupted;
  }
}
