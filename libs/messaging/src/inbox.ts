import { randomBytes } from 'node:crypto';
import type { NatsConnection } from 'nats';
import type { MessagingError } from './messaging.js';
import type { IncomingMessage, Receiver } from './receiver.js';
import { subscribe } from './subscribe.js';

/** What a subject of the inbox belongs to; its first letter says so on the wire. */
export type ReceiverKind = 'call' | 'reader' | 'writer' | 'payload';

const LETTERS = { call: 'c', reader: 'r', writer: 'w', payload: 'p' } as const satisfies Record<ReceiverKind, string>;
const READER_LETTER = LETTERS.reader.charCodeAt(0);

/**
 * The one subscription on which everything addressed to this connection arrives: `_INBOX.<service>.<random>.*`. The
 * service's name comes first so that permissions can be given for each service; the random part cannot be guessed.
 */
export class Inbox {
  private readonly prefix: string;
  private readonly receivers = new Map<string, Receiver>();
  private counter = 0;
  private whenEmpty: (() => void) | undefined;

  /** `onStray` is told of stream frames whose reader has gone. */
  constructor(
    connection: NatsConnection,
    service: string,
    private readonly onStray: (message: IncomingMessage) => void,
  ) {
    this.prefix = `_INBOX.${service}.${randomBytes(12).toString('hex')}.`;
    subscribe(connection, `${this.prefix}*`, (message) => this.deliver(message));
  }

  /** Returns the subject at which `receiver` can be reached until it is removed. */
  add(kind: ReceiverKind, receiver: Receiver): string {
    const subject = `${this.prefix}${LETTERS[kind]}${(this.counter++).toString(36)}`;
    this.receivers.set(subject, receiver);
    return subject;
  }

  remove(subject: string): void {
    if (this.receivers.delete(subject) && this.receivers.size === 0) this.whenEmpty?.();
  }

  /** Fails everything under way, or only what publishes to `peer`. */
  failAll(error: MessagingError, peer?: string): void {
    for (const receiver of [...this.receivers.values()]) {
      if (peer === undefined || receiver.peer === peer) receiver.fail(error);
    }
  }

  /** Resolves when nothing is under way. */
  async emptied(): Promise<void> {
    if (this.receivers.size > 0) await new Promise<void>((resolve) => (this.whenEmpty = resolve));
  }

  private deliver(message: IncomingMessage): void {
    const receiver = this.receivers.get(message.subject);
    if (receiver !== undefined) receiver.receive(message);
    else if (message.subject.charCodeAt(this.prefix.length) === READER_LETTER) this.onStray(message);
  }
}
