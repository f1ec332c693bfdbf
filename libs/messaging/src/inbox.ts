import { randomBytes, randomFillSync } from 'node:crypto';
import type { NatsConnection } from 'nats';
import type { MessagingError } from './messaging.js';
import type { IncomingMessage, Receiver } from './receiver.js';
import { subscribe } from './subscribe.js';

/** Owner of a subject in the inbox. Its first letter is part of the subject. */
type ReceiverKind = 'call' | 'reader' | 'writer' | 'payload';

const LETTERS = { call: 'c', reader: 'r', writer: 'w', payload: 'p' } as const satisfies Record<ReceiverKind, string>;
const READER_LETTER = LETTERS.reader.charCodeAt(0);

const INBOX_PREFIX = '_INBOX.';

/** True for a subject in an inbox. A service publishes to no other subject that a caller names, or it would lend the caller its own rights. */
export function isInbox(subject: string): boolean {
  return subject.startsWith(INBOX_PREFIX);
}

/** True when both subjects are in the inbox of the same connection: `_INBOX.<service>.<random>`. */
export function sharesInbox(subject: string, other: string): boolean {
  const [, service, connection] = other.split('.');
  return isInbox(other) && connection !== undefined && subject.startsWith(`${INBOX_PREFIX}${service}.${connection}.`);
}

/**
 * The one subscription for all messages to this connection: `_INBOX.<service>.<random>.*`. The service's name comes first, so that
 * permissions can be set by service. The last token is random too: a peer learns the prefix and must not guess the subjects of others.
 */
export class Inbox {
  private readonly prefix: string;
  private readonly receivers = new Map<string, Receiver>();
  private whenEmpty: (() => void) | undefined;

  /** Calls `onStray` for stream frames without a reader. */
  constructor(
    connection: NatsConnection,
    service: string,
    private readonly onStray: (message: IncomingMessage) => void,
  ) {
    this.prefix = `_INBOX.${service}.${randomBytes(12).toString('hex')}.`;
    subscribe(connection, `${this.prefix}*`, (message) => this.deliver(message));
  }

  /** Returns the subject that reaches `receiver` until it is removed. */
  add(kind: ReceiverKind, receiver: Receiver): string {
    const subject = `${this.prefix}${LETTERS[kind]}${randomToken()}`;
    this.receivers.set(subject, receiver);
    return subject;
  }

  remove(subject: string): void {
    if (this.receivers.delete(subject) && this.receivers.size === 0) this.whenEmpty?.();
  }

  /** Fails every receiver, or only those that publish to `peer`. */
  failAll(error: MessagingError, peer?: string): void {
    for (const receiver of [...this.receivers.values()]) {
      if (peer === undefined || receiver.peer === peer) receiver.fail(error);
    }
  }

  /** Resolves when there is no receiver. */
  async emptied(): Promise<void> {
    if (this.receivers.size > 0) await new Promise<void>((resolve) => (this.whenEmpty = resolve));
  }

  private deliver(message: IncomingMessage): void {
    const receiver = this.receivers.get(message.subject);
    if (receiver !== undefined) receiver.receive(message);
    else if (message.subject.charCodeAt(this.prefix.length) === READER_LETTER) this.onStray(message);
  }
}

const TOKEN_BYTES = 12;
/** Random bytes for 256 tokens: asking the system for each token takes longer than the rest of a call. */
const pool = Buffer.alloc(256 * TOKEN_BYTES);
let poolUsed = pool.length;

function randomToken(): string {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const start = poolUsed;
  poolUsed += TOKEN_BYTES;
  return pool.toString('base64url', start, poolUsed);
}
