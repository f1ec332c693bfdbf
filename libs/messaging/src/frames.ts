/**
 * The framing of streams. A frame is one NATS message to the reader's subject:
 *
 *     <kind><sequence>\n<body>
 *
 * `kind` is one letter, `sequence` a decimal number from 1 that grows by one a frame; a heartbeat repeats the last one.
 * Every frame but the last has the writer's subject as its reply subject, where the reader sends `C<sequence>` (credit:
 * everything up to there is consumed), `S` (stop) and `SD` (stop, and the work may go on without a reader).
 */
const FRAME_KINDS = {
  /** A JSON array of events. */
  events: 'E',
  /** Like `events`, and the stream is complete. */
  last: 'L',
  /** A `WireError`; the stream has failed at its source. */
  failure: 'X',
  /** A piece of a body that did not fit one message; the frame after the last piece has the rest. */
  part: 'P',
  /** No body: the writer is alive, and `sequence` is what the reader should have. */
  heartbeat: 'H',
} as const;

export type FrameKind = keyof typeof FRAME_KINDS;

export interface Frame {
  kind: FrameKind;
  sequence: number;
  body: Uint8Array;
}

/** Frames a writer may have sent that the reader has not consumed. */
export const WINDOW_FRAMES = 64;
/**
 * Bytes likewise; the last frame may exceed it. A reader that does not read holds so much and a frame (billing.md 7, "SSE"), and
 * 16 MB/s go through one stream at a round trip of a millisecond.
 */
export const WINDOW_BYTES = 16 * 1024;

export const STOP = Buffer.from('S');
/** Begins as `STOP` does: a writer that does not know it stops. */
export const DETACH = Buffer.from('SD');

const PREFIX_BYTES_MAX = 20;
const NEWLINE = 10;
const KIND_OF_LETTER = new Map(Object.entries(FRAME_KINDS).map(([kind, letter]) => [letter.charCodeAt(0), kind as FrameKind]));
const CREDIT_LETTER = 'C'.charCodeAt(0);
const STOP_LETTER = 'S'.charCodeAt(0);
const DETACH_LETTER = 'D'.charCodeAt(0);

/** Renders one frame, or as many as `bytesMax` demands; `sequence` is that of the first. */
export function renderFrames(kind: FrameKind, sequence: number, body: string, bytesMax: number): Buffer[] {
  const whole = Buffer.from(`${FRAME_KINDS[kind]}${sequence}\n${body}`);
  if (whole.length <= bytesMax) return [whole];
  const bytes = whole.subarray(whole.indexOf(NEWLINE) + 1);
  const pieceBytes = bytesMax - PREFIX_BYTES_MAX;
  const frames: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    const letter = start + pieceBytes < bytes.length ? FRAME_KINDS.part : FRAME_KINDS[kind];
    frames.push(Buffer.concat([Buffer.from(`${letter}${sequence + frames.length}\n`), bytes.subarray(start, start + pieceBytes)]));
  }
  return frames;
}

/** Undefined when it is not a frame. */
export function parseFrame(data: Uint8Array): Frame | undefined {
  const kind = KIND_OF_LETTER.get(data[0] ?? 0);
  const end = data.indexOf(NEWLINE);
  if (kind === undefined || end < 0) return undefined;
  const sequence = parseDecimal(data, 1, end);
  return sequence < 0 ? undefined : { kind, sequence, body: data.subarray(end + 1) };
}

export function renderCredit(sequence: number): Buffer {
  return Buffer.from(`C${sequence}`);
}

/** What a reader says: the sequence it has consumed, `stop`, `detach`, or undefined for anything else. */
export function parseControl(data: Uint8Array): number | 'stop' | 'detach' | undefined {
  if (data[0] === STOP_LETTER) return data[1] === DETACH_LETTER ? 'detach' : 'stop';
  if (data[0] !== CREDIT_LETTER) return undefined;
  const sequence = parseDecimal(data, 1, data.length);
  return sequence < 0 ? undefined : sequence;
}

function parseDecimal(data: Uint8Array, start: number, end: number): number {
  let value = start < end ? 0 : -1;
  for (let index = start; index < end; index++) {
    const digit = (data[index] ?? 0) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
