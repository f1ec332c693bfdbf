import { crc32 } from 'node:zlib';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { GrowingBuffer } from './growing-buffer.js';
import type { StreamFraming, Take } from './stream-framing.js';

/** Total length, length of the headers, and the checksum of these two. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;

/** Longest frame, as long as an event of the other framing. AWS allows 16 times as much, and sends a few hundred bytes. */
const FRAME_BYTES_MAX = 1024 * 1024;

/**
 * Parses AWS's event streams (`application/vnd.amazon.eventstream`): frames with checksums in, payloads out. The payload of an event or an
 * exception becomes `{"<its type>": payload}`, an error without a type `{"error": {…}}`.
 *
 * Written here instead of taken from `@smithy/eventstream-codec`, which decodes whole frames: cutting them out of the stream with a bound
 * is most of the work, and Node has the checksum.
 */
export class FrameParser implements StreamFraming {
  private readonly carried = new GrowingBuffer();
  /** Bytes with which the carried ones can be read further: joined sooner, small pieces of a long frame would be copied many times. */
  private needed = PRELUDE_BYTES;

  get isCut(): boolean {
    return this.carried.length > 0;
  }

  get heldBytes(): number {
    return this.carried.length;
  }

  push(bytes: Buffer, take: Take): void {
    this.carried.push(bytes);
    if (this.carried.length < this.needed) return;
    let rest = this.carried.take();
    for (;;) {
      this.needed = rest.length < PRELUDE_BYTES ? PRELUDE_BYTES : readLength(rest);
      if (rest.length < this.needed) break;
      readFrame(rest.subarray(0, this.needed), take);
      rest = rest.subarray(this.needed);
    }
    if (rest.length > 0) this.carried.push(rest);
  }

  end(): void {
    if (this.isCut) throw broken('the stream ended inside a frame');
  }
}

/** Returns the length of the frame that begins here, before the rest of it has come. */
function readLength(bytes: Buffer): number {
  const length = bytes.readUInt32BE(0);
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) throw broken('wrong checksum of a prelude');
  if (length > FRAME_BYTES_MAX) throw new UpstreamFailure('limit', 'upstream_error', { detail: 'a frame of the stream is too long' });
  if (PRELUDE_BYTES + bytes.readUInt32BE(4) + CHECKSUM_BYTES > length) throw broken('headers longer than their frame');
  return length;
}

function readFrame(frame: Buffer, take: Take): void {
  const end = frame.length - CHECKSUM_BYTES;
  if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) throw broken('wrong checksum of a frame');
  const payloadAt = PRELUDE_BYTES + frame.readUInt32BE(4);
  const headers = readHeaders(frame.subarray(PRELUDE_BYTES, payloadAt));
  const type = headers.get(':event-type') ?? headers.get(':exception-type');
  const payload = frame.toString('utf8', payloadAt, end).trim();
  if (type !== undefined) take(`{${JSON.stringify(type)}:${payload === '' ? '{}' : payload}}`);
  else if (headers.get(':message-type') === 'error') {
    take(JSON.stringify({ error: { code: headers.get(':error-code'), message: headers.get(':error-message') ?? '' } }));
  }
}

const STRING_TYPE = 7;
/** Lengths of the values of other types; those of `undefined` length begin with it. */
const VALUE_LENGTHS = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16] as const;

/** Returns the headers that are text. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  try {
    for (let at = 0; at < bytes.length; ) {
      const nameEnd = at + 1 + bytes.readUInt8(at);
      const type = bytes.readUInt8(nameEnd);
      const fixed = VALUE_LENGTHS[type];
      if (type >= VALUE_LENGTHS.length) throw new RangeError('unknown type');
      const valueAt = nameEnd + (fixed === undefined ? 3 : 1);
      const valueEnd = valueAt + (fixed ?? bytes.readUInt16BE(nameEnd + 1));
      if (valueEnd > bytes.length) throw new RangeError('value is cut');
      if (type === STRING_TYPE) headers.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', valueAt, valueEnd));
      at = valueEnd;
    }
    return headers;
  } catch (cause) {
    throw broken('headers of a frame cannot be read', cause);
  }
}

function broken(detail: string, cause?: unknown): UpstreamFailure {
  return new UpstreamFailure('broken', 'upstream_error', { detail, cause });
}
