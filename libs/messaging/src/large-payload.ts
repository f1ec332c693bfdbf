import { setImmediate as turn } from 'node:timers/promises';
import { headers, type MsgHdrs } from 'nats';
import { call } from './call.js';
import { isInbox } from './inbox.js';
import type { Link } from './link.js';
import { MessagingError } from './messaging.js';
import { type Beating, TICK_MS } from './pulse.js';
import type { IncomingMessage, Receiver } from './receiver.js';
import { PAYLOAD_BYTES_HEADER, PAYLOAD_FROM_HEADER } from './wire.js';

/** Small enough for several to be on their way through the server without filling its buffers. */
const PIECE_BYTES_MAX = 256 * 1024;
const PIECE_TIMEOUT_MS = 5_000;
const NO_BYTES = Buffer.alloc(0);
/** An offer nobody fetches from is withdrawn. */
const OFFER_IDLE_TICKS = 40_000 / TICK_MS;

/**
 * Payloads above the server's `max_payload`. The message itself then only names size and subject; the receiver fetches
 * piece after piece from there, at its own pace. The request for a piece is its offset in decimal, the answer is raw bytes.
 *
 * Returns the headers that announce `bytes`, on top of those given. The offer ends with the last piece, with `withdraw`, or
 * when nobody fetches for a while; `onEnd` is called then.
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

/** Bytes announced by a message; 0 when its body is all there is. */
export function announcedBytes(message: IncomingMessage): number {
  const text = message.headers?.get(PAYLOAD_BYTES_HEADER);
  return text && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** Subject that hands out the pieces of an announced payload. */
export function payloadSource(message: IncomingMessage): string {
  return message.headers?.get(PAYLOAD_FROM_HEADER) ?? '';
}

/**
 * Fetches an announced payload and gives it to `use`. Waits while too many others are being put together; the bytes
 * count until `use` returns. The caller has checked the size against `link.payloadBytesMax`.
 */
export async function withPayload<Result>(link: Link, message: IncomingMessage, use: (bytes: Buffer) => Result): Promise<Result> {
  const bytes = announcedBytes(message);
  const from = payloadSource(message);
  if (!isInbox(from)) throw new MessagingError('broken', 'A large payload was offered outside of an inbox.');
  await link.assembly.take(bytes);
  try {
    const result = use(await fetchPieces(link, from, bytes));
    await turn(); // reading it took tens of milliseconds, and its handler may take as long: other work comes between
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
    return await call(link, from, Buffer.from(String(offset)), { timeoutMs: PIECE_TIMEOUT_MS }, (reply) => reply.data);
  } catch (error) {
    throw new MessagingError('broken', 'A large payload did not arrive.', { cause: error });
  }
}

class Offer implements Receiver, Beating {
  readonly peer = '';
  readonly subject: string;
  private idleTicks = 0;

  constructor(
    private readonly link: Link,
    private bytes: Buffer,
    private onEnd: (() => void) | undefined,
  ) {
    this.subject = link.inbox.add('payload', this);
    link.pulse.add(this);
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

  tick(): void {
    if (++this.idleTicks >= OFFER_IDLE_TICKS) this.withdraw();
  }

  /** Whoever could still withdraw it may be kept for as long as a stream. */
  private withdraw(): void {
    this.bytes = NO_BYTES;
    this.onEnd?.();
    this.onEnd = undefined;
    this.link.inbox.remove(this.subject);
    this.link.pulse.remove(this);
  }
}
