import type { MsgHdrs, NatsConnection } from 'nats';
import type { Logger } from '#observability/logger.js';

/** Collects during a turn of the event loop, and publishes in `flush`. */
export interface Flushable {
  flush(): void;
}

interface Outgoing {
  subject: string;
  data: Uint8Array;
  options: { reply?: string; headers?: MsgHdrs };
}

/**
 * Sends all messages of one turn of the event loop together. The NATS client alone would flush after every microtask queue: a socket
 * write for nearly every message, which was the largest single cost in the benchmarks.
 */
export class Outbox {
  private outgoing: Outgoing[] = [];
  private collecting: Flushable[] = [];
  private scheduled = false;

  constructor(
    private readonly connection: NatsConnection,
    private readonly logger: Logger,
  ) {}

  send(subject: string, data: Uint8Array, reply?: string, headers?: MsgHdrs): void {
    this.outgoing.push({ subject, data, options: { reply, headers } });
    this.schedule();
  }

  /** Calls `collector.flush` at the end of this turn. The caller must not add a collector twice in a turn. */
  flushOnNextTick(collector: Flushable): void {
    this.collecting.push(collector);
    this.schedule();
  }

  /** Hands all messages to the NATS client now. */
  flush = (): void => {
    this.scheduled = false;
    const collecting = this.collecting;
    this.collecting = [];
    for (const collector of collecting) collector.flush();
    const outgoing = this.outgoing;
    this.outgoing = [];
    for (const { subject, data, options } of outgoing) this.publish(subject, data, options);
  };

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(this.flush);
  }

  private publish(subject: string, data: Uint8Array, options: Outgoing['options']): void {
    try {
      this.connection.publish(subject, data, options);
    } catch (error) {
      // A closed connection or an oversized message. The caller of a request gets a timeout.
      this.logger.warn({ err: error, subject }, 'message not published');
    }
  }
}
