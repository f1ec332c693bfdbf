import { parseControl, renderHeartbeat } from './frames.js';
import { type Heartbeat, type Heartbeating, TICK_MS } from './heartbeat.js';
import type { Inbox } from './inbox.js';
import type { StreamAddress } from './inbox-subject.js';
import type { Outbox } from './outbox.js';
import type { IncomingMessage, Receiver } from './receiver.js';
import type { SentFrames } from './sent-frames.js';

/** Limits of all ended streams together. Beyond them the oldest are forgotten. */
const STREAMS_MAX = 4_096;
const BYTES_MAX = 16 * 1024 * 1024;

/** The parts of a `Link` in use here. */
interface Carrier {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly heartbeat: Heartbeat;
  readonly resumeMs: number;
}

/**
 * Keeps the last frames of each ended stream for `resumeMs`, because readers do not acknowledge the last frame: one that has lost it can
 * still ask for it.
 */
export class EndedStreams implements Heartbeating {
  /** The oldest first. */
  private readonly streams = new Set<EndedStream>();
  private bytes = 0;
  private now = 0;

  constructor(private readonly link: Carrier) {}

  /** Receives at `inbox` instead of the writer. */
  keep(inbox: string, otherEnd: StreamAddress, window: SentFrames): void {
    const { link, streams } = this;
    if (link.resumeMs === 0) {
      link.inbox.remove(inbox);
      return;
    }
    const stream = new EndedStream(link, inbox, otherEnd, window, this.now + link.resumeMs / TICK_MS, () => this.forget(stream));
    link.inbox.replace(inbox, stream);
    streams.add(stream);
    this.bytes += window.bytes;
    if (streams.size === 1) link.heartbeat.add(this);
    for (const oldest of streams) {
      if (streams.size <= STREAMS_MAX && this.bytes <= BYTES_MAX) return;
      this.forget(oldest);
    }
  }

  tick(): void {
    this.now++;
    for (const stream of this.streams) {
      if (stream.until > this.now) return;
      this.forget(stream);
    }
  }

  /** Forgets all of them: the connection is closing. */
  clear(): void {
    for (const stream of this.streams) this.forget(stream);
  }

  private forget(stream: EndedStream): void {
    if (!this.streams.delete(stream)) return;
    this.bytes -= stream.window.bytes;
    this.link.inbox.remove(stream.inbox);
    if (this.streams.size === 0) this.link.heartbeat.remove(this);
  }
}

class EndedStream implements Receiver {
  readonly peer: string;
  readonly survivesLoss = true;

  constructor(
    private readonly link: Carrier,
    readonly inbox: string,
    readonly otherEnd: StreamAddress,
    readonly window: SentFrames,
    /** Tick after which it is forgotten. */
    readonly until: number,
    private readonly forget: () => void,
  ) {
    this.peer = otherEnd.subject;
  }

  receive(message: IncomingMessage): void {
    const control = parseControl(message.data);
    if (control?.kind === 'resume') {
      for (const frame of this.window.after(control.sequence)) this.link.outbox.sendStreamed(this.otherEnd, frame, this.inbox);
    } else if (control?.kind === 'stop' || control?.kind === 'detach') this.forget();
  }

  fail(): void {
    this.forget();
  }

  /** Shows the reader that it may have missed the end. A reader that has not answers with a stop. */
  resume(): void {
    this.link.outbox.sendStreamed(this.otherEnd, renderHeartbeat(this.window.sent), this.inbox);
  }
}
