import { setImmediate as turn } from 'node:timers/promises';
import { headers, type MsgHdrs } from 'nats';
import { call } from './call.js';
import { type Heartbeating, TICK_MS } from './heartbeat.js';
import { isInbox } from './inbox-subject.js';
import type { Link } from './link.js';
import { MessagingError } from './messaging.js';
import type { IncomingMessage, Receiver } from './receiver.js';
import { PAYLOAD_BYTES_HEADER, PAYLOAD_FROM_HEADER } from './wire.js';

/** Small enough that several pieces in flight do not fill the server's buffers. */
const PIECE_BYTES_MAX = 256 * 1024;
const PIECE_TIMEOUT_MS = 5_000;
const NO_BYTES = Buffer.alloc(0);
/** An offer is withdrawn after this long without a fetch. */
const OFFER_IDLE_TICKS = 40_000 / TICK_MS;

/**
 * Offers a payload above the server's `max_payload`. The message has only its size and a subject, from which the receiver fetches piece by
 * piece: the request for a piece is its offset in decimal, the answer is raw bytes.
 *
 * Adds the headers that announce `bytes` to `announcement`. The offer ends, and calls `onEnd`, with the last piece, with `withdraw`, or
 * after 40 s without a fetch.
 */
export function offerPayload(link: Link, bytes: Buffer, announcement: MsgHdrs = headers(), onEnd?: () => void): PayloadOffer {
  const offer = new Offer(link, bytes, onEnd);
  announcement.set(PAYLOAD_BYTES_HEADER, String(bytes.length));
  announcement.set(PAYLOAD_FROM_HEADER, offer.subject);
  return { announcement, withdraw: () => offer.fail() };
}

export interface PayloadOffer {
  announcement: MsgHdrs;
  withdraw(): void;
}

/** Size of the announced payload; 0 for a message without one. */
export function announcedBytes(message: IncomingMessage): number {
  const text = message.headers?.get(PAYLOAD_BYTES_HEADER);
  return text && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** Subject that serves the pieces of an announced payload. */
export function payloadSource(message: IncomingMessage): string {
  return message.headers?.get(PAYLOAD_FROM_HEADER) ?? '';
}

/**
 * Fetches an announced payload and passes it to `use`. Waits while other payloads take the whole budget; the bytes count until `use`
 * returns. The caller has checked the size against `link.payloadBytesMax`.
 */
export async function withPayload<Result>(link: Link, message: IncomingMessage, use: (bytes: Buffer) => Result): Promise<Result> {
  const bytes = announcedBytes(message);
  const from = payloadSource(message);
  if (!isInbox(from)) throw new MessagingError('broken', 'A large payload was offered outside of an inbox.');
  await link.assembly.take(bytes);
  try {
    const result = use(await fetchPieces(link, from, bytes));
    await turn(); // parsing took tens of milliseconds, and the handler may take as long: let other work run in between
    return result;
  } finally {
    link.assembly.release(bytes);
  }
}

async function fetchPieces(link: Link, from: string, bytes: number): Promise<Buffer> {
  const payload = Buffer.allocUnsafe(bytes);
  for (let offset = 0; offset < bytes; ) {
    const piece = await fetchPiece(link, from, offset);
    if (piece.length === 0 || offset + piece.length > bytes) throw new MessagingError('broken', 'A large payload came in wrong pieces.');
    payload.set(piece, offset);
    offset += piece.length;
  }
  return payload;
}

async function fetchPiece(link: Link, from: string, offset: number): Promise<Uint8Array> {
  try {
    return await call(link, from, Buffer.from(String(offset)), { timeoutMs: PIECE_TIMEOUT_MS, isRepeatable: true }, (reply) => reply.data);
  } catch (error) {
    throw new MessagingError('broken', 'A large payload did not arrive.', { cause: error });
  }
}

class Offer implements Receiver, Heartbeating {
  readonly peer = '';
  readonly survivesLoss = true;
  readonly subject: string;
  private idleTicks = 0;

  constructor(
    private readonly link: Link,
    private bytes: Buffer,
    private onEnd: (() => void) | undefined,
  ) {
    this.subject = link.inbox.add('payload', this);
    link.heartbeat.add(this);
  }

  receive(message: IncomingMessage): void {
    this.idleTicks = 0;
    const offset = Number(Buffer.from(message.data).toString());
    if (!message.reply || !isInbox(message.reply) || !Number.isInteger(offset) || offset < 0) return;
    const end = Math.min(this.bytes.length, offset + Math.min(PIECE_BYTES_MAX, this.link.messageBytesMax));
    this.link.outbox.send(message.reply, this.bytes.subarray(offset, end));
    if (end === this.bytes.length) this.withdraw();
  }

  fail(): void {
    this.withdraw();
  }

  resume(): void {
    this.idleTicks = 0;
  }

  tick(): void {
    if (++this.idleTicks >= OFFER_IDLE_TICKS) this.withdraw();
  }

  /** Drops the bytes, because a stream may keep a reference to the offer until it ends. */
  private withdraw(): void {
    this.bytes = NO_BYTES;
    this.onEnd?.();
    this.onEnd = undefined;
    this.link.inbox.remove(this.subject);
    this.link.heartbeat.remove(this);
  }
}
