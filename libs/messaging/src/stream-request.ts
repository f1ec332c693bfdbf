import type { MsgHdrs } from 'nats';
import { TICK_MS } from './heartbeat.js';
import type { Link } from './link.js';

/**
 * After a disruption a writer that has the request shows itself within a tick of its own reconnect. Without one for this long, the request
 * counts as lost.
 */
const REPEAT_TICKS = 1_000 / TICK_MS;

/** A request ready to be sent. */
export interface PackedRequest {
  body: Uint8Array;
  headers?: MsgHdrs;
  /** Releases the offer of a large body. */
  withdraw?: () => void;
  /** Call when the body is no longer needed. */
  onReleased?: () => void;
}

/** The request of a stream until its first frame arrives. Says when to send it again. */
export class StreamRequest {
  /** `Link.disruptions` when it was sent last. */
  since = 0;
  /** True when it was sent again although a service may have it. */
  isRepeated = false;
  private isNotFound = false;
  /** Ticks since a disruption in which it may have been lost. */
  private ticks: number | undefined;

  constructor(
    private readonly link: Link,
    private readonly subject: string,
    readonly packed: PackedRequest,
  ) {}

  send(inbox: string): void {
    this.since = this.link.disruptions;
    this.isNotFound = false;
    this.ticks = undefined;
    this.link.outbox.send(this.subject, this.packed.body, inbox, this.packed.headers);
  }

  /** Call on "no responders". Returns false when the request fails: during a disruption its service may be reconnecting. */
  notFound(): boolean {
    this.isNotFound = this.link.isDisrupted;
    return this.isNotFound;
  }

  resume(): void {
    if (this.since < this.link.disruptions) this.ticks ??= 0;
  }

  /** Returns true when it is to be sent again, under a new inbox: a writer that has it after all is then stopped. */
  tick(): boolean {
    if (this.isNotFound) return true;
    if (this.ticks === undefined || ++this.ticks < REPEAT_TICKS) return false;
    this.isRepeated = true;
    return true;
  }
}
