import type { MsgHdrs, NatsConnection } from 'nats';
import type { Logger } from '#observability/logger.js';

/** Something that collects during a turn and publishes at its end. */
export interface TurnFlushable {
  flushTurn(): void;
}

interface Outgoing {
  subject: string;
  data: Uint8Array;
  options: { reply?: string; headers?: MsgHdrs };
}

/**
 * Everything published in one turn of the event loop leaves in one piece at its end. The client on its own flushes after
 * every microtask queue, which means a socket write for nearly every message; that was the largest single cost measured
 * (architecture.md, "The hot path").
 */
export class Outbox {
  private outgoing: Outgoing[] = [];
  private collecting: TurnFlushable[] = [];
  private scheduled = false;

  constructor(
    private readonly connection: NatsConnection,
    private readonly logger: Logger,
  ) {}

  send(subject: string, data: Uint8Array, reply?: string, headers?: MsgHdrs): void {
    this.outgoing.push({ subject, data, options: { reply, headers } });
    this.schedule();
  }

  /** Calls `flushTurn` once, at the end of this turn. The caller makes sure to ask only once a turn. */
  flushLater(collector: TurnFlushable): void {
    this.collecting.push(collector);
    this.schedule();
  }

  /** Hands everything to the client now. */
  flush = (): void => {
    this.scheduled = false;
    const collecting = this.collecting;
    this.collecting = [];
    for (const collector of collecting) collector.flushTurn();
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
      // Only a closed connection or an oversized message get here; whoever waits for an answer has a time limit.
      this.logger.warn({ err: error, subject }, 'message not published');
    }
  }
}
