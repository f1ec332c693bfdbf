import { crc32 } from 'node:zlib';

const STRING_TYPE = 7;

/** Returns a frame of AWS's event streams (`application/vnd.amazon.eventstream`) with these headers, which are text. */
export function encodeFrame(headers: Readonly<Record<string, string>>, payload: string | Buffer): Buffer {
  const fields = Buffer.concat(Object.entries(headers).flatMap(([name, value]) => encodeHeader(Buffer.from(name), Buffer.from(value))));
  const body = Buffer.from(payload as string);
  const frame = Buffer.alloc(12 + fields.length + body.length + 4);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(fields.length, 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  fields.copy(frame, 12);
  body.copy(frame, 12 + fields.length);
  frame.writeUInt32BE(crc32(frame.subarray(0, frame.length - 4)), frame.length - 4);
  return frame;
}

/** Returns the frame of an event, or of an exception, by its type and its JSON. */
export function encodeEvent(type: string, json: string): Buffer {
  const kind = type.endsWith('Exception') ? 'exception' : 'event';
  return encodeFrame({ [`:${kind}-type`]: type, ':content-type': 'application/json', ':message-type': kind }, json);
}

function encodeHeader(name: Buffer, value: Buffer): Buffer[] {
  return [Buffer.from([name.length]), name, Buffer.from([STRING_TYPE, value.length >> 8, value.length & 0xff]), value];
}
