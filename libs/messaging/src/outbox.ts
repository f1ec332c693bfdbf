import type { MsgHdrs, NatsConnection } from 'nats';
import type { Logger } from '#observability/logger.js';
import { type BundledMessage, renderBundle } from './bundle.js';
import { bundleSubject, goneSubject, parseToken, type StreamAddress } from './inbox-subject.js';

/** Collects during a turn of the event loop, and publishes in `flush`. */
export interface Flushable {
  flush(): void;
}

interface Outgoing {
  subject: string;
  data: Uint8Array;
  options: { reply?: string; headers?: MsgHdrs };
}

/** A larger bundle would delay the first of its messages. */
const BUNDLE_BYTES_MAX = 64 * 1024;

/** The connection in use. */
interface Carrier {
  readonly connection: NatsConnection;
  readonly connected: boolean;
}

/**
 * Sends all messages of one turn of the event loop together. The NATS client alone would flush after every microtask queue: a socket
 * write for nearly every message, which was the largest single cost in the benchmarks. Stream messages to the same connection share a
 * message. Without a connection everything waits for `flush` or `clear`.
 */
export class Outbox {
  private outgoing: Outgoing[] = [];
  /** Stream messages of this turn, by the connection that they go to. */
  private streamed = new Map<string, BundledMessage[]>();
  private collecting: Flushable[] = [];
  private scheduled = false;

  /** `address`: the connection of this service, `_INBOX.<service>.<random>`. */
  constructor(
    private readonly carrier: Carrier,
    private readonly address: string,
    private readonly logger: Logger,
  ) {}

  send(subject: string, data: Uint8Array, reply?: string, headers?: MsgHdrs): void {
    this.outgoing.push({ subject, data, options: { reply, headers } });
    this.schedule();
  }

  /** Sends a frame or control of a stream. Messages to one connection keep their order. `reply` is a subject in the inbox of this service. */
  sendStreamed({ subject, connection, token }: StreamAddress, data: Uint8Array, reply?: string): void {
    if (connection === undefined) {
      this.send(subject, data, reply);
      return;
    }
    const message = { token, replyToken: reply === undefined ? undefined : parseToken(reply), data };
    const messages = this.streamed.get(connection);
    if (messages === undefined) this.streamed.set(connection, [message]);
    else messages.push(message);
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
    if (!this.carrier.connected) return;
    const collecting = this.collecting;
    this.collecting = [];
    for (const collector of collecting) collector.flush();
    const { outgoing, streamed } = this;
    this.outgoing = [];
    for (const { subject, data, options } of outgoing) this.publish(subject, data, options);
    if (streamed.size === 0) return;
    this.streamed = new Map();
    for (const [connection, messages] of streamed) this.publishStreamed(connection, messages);
  };

  /** Messages of this turn, or while there is no connection of all turns since. */
  get waiting(): number {
    let waiting = this.outgoing.length;
    for (const messages of this.streamed.values()) waiting += messages.length;
    return waiting;
  }

  /** Drops the messages that wait for a connection. */
  clear(): void {
    this.outgoing = [];
    this.streamed.clear();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(this.flush);
  }

  private publishStreamed(connection: string, messages: BundledMessage[]): void {
    let bundle: BundledMessage[] = [];
    let bytes = 0;
    for (const message of messages) {
      if (bytes + message.data.length > BUNDLE_BYTES_MAX) {
        this.publishBundle(connection, bundle);
        bundle = [];
        bytes = 0;
      }
      bundle.push(message);
      bytes += message.data.length;
    }
    this.publishBundle(connection, bundle);
  }

  private publishBundle(connection: string, messages: BundledMessage[]): void {
    const [first] = messages;
    if (first === undefined) return;
    if (messages.length === 1) {
      const reply = first.replyToken === undefined ? undefined : `${this.address}.${first.replyToken}`;
      this.publish(`${connection}.${first.token}`, first.data, { reply });
      return;
    }
    this.publish(bundleSubject(connection), renderBundle(this.address, messages), { reply: goneSubject(this.address, connection) });
  }

  private publish(subject: string, data: Uint8Array, options: Outgoing['options']): void {
    try {
      this.carrier.connection.publish(subject, data, options);
    } catch (error) {
      // A closed connection or an oversized message. The caller of a request gets a timeout.
      this.logger.warn({ err: error, subject }, 'message not published');
    }
  }
}
