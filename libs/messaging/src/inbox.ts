import { randomBytes, randomFillSync } from 'node:crypto';
import type { NatsConnection } from 'nats';
import type { MessagingError } from './messaging.js';
import type { IncomingMessage, Receiver } from './receiver.js';
import { subscribe } from './subscribe.js';

/** What a subject of the inbox belongs to; its first letter says so on the wire. */
export type ReceiverKind = 'call' | 'reader' | 'writer' | 'payload';

const LETTERS = { call: 'c', reader: 'r', writer: 'w', payload: 'p' } as const satisfies Record<ReceiverKind, string>;
const READER_LETTER = LETTERS.reader.charCodeAt(0);

const INBOX_PREFIX = '_INBOX.';

/** True when a subject is in an inbox. A service publishes nowhere else where another tells it to, or it would lend out its own rights. */
export function isInbox(subject: string): boolean {
  return subject.startsWith(INBOX_PREFIX);
}

/** True when `subject` is in the same connection's inbox as `other`: `_INBOX.<service>.<random>` is the same. */
export function sharesInbox(subject: string, other: string): boolean {
  const [, service, connection] = other.split('.');
  return isInbox(other) && connection !== undefined && subject.startsWith(`${INBOX_PREFIX}${service}.${connection}.`);
}

/**
 * The one subscription on which everything addressed to this connection arrives: `_INBOX.<service>.<random>.*`. The
 * service's name comes first so that permissions can be given for each service. The last token is random, too: a peer learns the prefix,
 * and must not guess from it where others are answered.
 */
export class Inbox {
  private readonly prefix: string;
  private readonly receivers = new Map<string, Receiver>();
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
    const subject = `${this.prefix}${LETTERS[kind]}${randomToken()}`;
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

const TOKEN_BYTES = 12;
/** Random bytes for 256 tokens, because asking the system for each of them takes longer than all the rest of a call. */
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
