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
  /** A ring, since a `Set` is slow to find its oldest entry. Stream number n is at n % STREAMS_MAX; a forgotten one leaves a gap. */
  private readonly ring = new Array<EndedStream | undefined>(STREAMS_MAX);
  /** Number of the oldest stream. */
  private first = 0;
  /** Number of the next stream. */
  private next = 0;
  private bytes = 0;
  private now = 0;

  constructor(private readonly link: Carrier) {}

  /** Receives at `inbox` instead of the writer. */
  keep(inbox: string, otherEnd: StreamAddress, window: SentFrames): void {
    const { link } = this;
    if (link.resumeMs === 0) {
      link.inbox.remove(inbox);
      return;
    }
    if (this.next - this.first === STREAMS_MAX) this.forget(this.oldest);
    if (this.first === this.next) link.heartbeat.add(this);
    const stream = new EndedStream(this, link, inbox, otherEnd, window, this.next, this.now + link.resumeMs / TICK_MS);
    link.inbox.replace(inbox, stream);
    this.ring[this.next % STREAMS_MAX] = stream;
    this.next++;
    this.bytes += window.bytes;
    while (this.bytes > BYTES_MAX) this.forget(this.oldest);
  }

  tick(): void {
    this.now++;
    while (this.oldest !== undefined && this.oldest.until <= this.now) this.forget(this.oldest);
  }

  /** Forgets all of them: the connection is closing. */
  clear(): void {
    while (this.oldest !== undefined) this.forget(this.oldest);
  }

  forget(stream: EndedStream | undefined): void {
    if (stream === undefined || this.ring[stream.number % STREAMS_MAX] !== stream) return;
    this.ring[stream.number % STREAMS_MAX] = undefined;
    this.bytes -= stream.window.bytes;
    this.link.inbox.remove(stream.inbox);
    while (this.first < this.next && this.oldest === undefined) this.first++;
    if (this.first === this.next) this.link.heartbeat.remove(this);
  }

  /** Undefined when there is none. */
  private get oldest(): EndedStream | undefined {
    return this.ring[this.first % STREAMS_MAX];
  }
}

class EndedStream implements Receiver {
  readonly peer: string;
  readonly survivesLoss = true;

  constructor(
    private readonly streams: EndedStreams,
    private readonly link: Carrier,
    readonly inbox: string,
    readonly otherEnd: StreamAddress,
    readonly window: SentFrames,
    /** Place among all ended streams. */
    readonly number: number,
    /** Tick after which it is forgotten. */
    readonly until: number,
  ) {
    this.peer = otherEnd.subject;
  }

  receive(message: IncomingMessage): void {
    const control = parseControl(message.data);
    if (control?.kind === 'resume') {
      for (const frame of this.window.after(control.sequence)) this.link.outbox.sendStreamed(this.otherEnd, frame, this.inbox);
    } else if (control?.kind === 'stop' || control?.kind === 'detach') this.streams.forget(this);
  }

  fail(): void {
    this.streams.forget(this);
  }

  /** Shows the reader that it may have missed the end. A reader that has not answers with a stop. */
  resume(): void {
    this.link.outbox.sendStreamed(this.otherEnd, renderHeartbeat(this.window.sent), this.inbox);
  }
}
