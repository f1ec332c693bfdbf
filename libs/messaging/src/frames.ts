/**
 * The wire format of streams. A frame is one NATS message to the reader's subject:
 *
 *     <kind><sequence>\n<body>
 *
 * `kind` is one letter. `sequence` is a decimal number from 1 that grows by one with each frame; a heartbeat repeats the last one. Every
 * frame but the last has the writer's subject as its reply subject. The reader sends there `C<sequence>` (credit: has consumed every frame
 * up to this one), `R<sequence>` (resume: has every frame up to this one; send the later ones again), `S` (stop) and `SD` (stop, and the
 * work may continue without a reader).
 */
const FRAME_KINDS = {
  /** A JSON array of events. */
  events: 'E',
  /** Like `events`, and the stream is complete. */
  last: 'L',
  /** A `WireError`: the source has failed. */
  failure: 'X',
  /** A part of a body too large for one message. The frame after the last part has the rest. */
  part: 'P',
  /** No body: the writer is alive. `sequence` is that of its last frame. */
  heartbeat: 'H',
} as const;

export type FrameKind = keyof typeof FRAME_KINDS;

/** A frame that is ready to be sent: text, or bytes if it is a part. */
export type RenderedFrame = string | Buffer;

/** A message of the reader to the writer. */
export type Control = { kind: 'credit' | 'resume'; sequence: number } | { kind: 'stop' | 'detach' };

export interface Frame {
  kind: FrameKind;
  sequence: number;
  body: Uint8Array;
}

/** Most frames that the writer may send ahead of the reader. */
export const WINDOW_FRAMES = 64;
/**
 * Most bytes that the writer may send ahead of the reader; the last frame may exceed it. Limits the memory that a slow reader occupies.
 * Allows 16 MB/s a stream at a round trip of one millisecond.
 */
export const WINDOW_BYTES = 16 * 1024;

export const STOP = Buffer.from('S');
/** Starts like `STOP`, so that an older writer stops. */
export const DETACH = Buffer.from('SD');

const PREFIX_BYTES_MAX = 20;
/** Most bytes of one character of a JavaScript string in UTF-8. */
const CHARACTER_BYTES_MAX = 3;
const NEWLINE = 10;
const KIND_OF_LETTER = new Map(Object.entries(FRAME_KINDS).map(([kind, letter]) => [letter.charCodeAt(0), kind as FrameKind]));
const CREDIT_LETTER = 'C'.charCodeAt(0);
const RESUME_LETTER = 'R'.charCodeAt(0);
const STOP_LETTER = 'S'.charCodeAt(0);
const DETACH_LETTER = 'D'.charCodeAt(0);

/** Renders one frame, or several parts of at most `bytesMax`; `sequence` is that of the first. */
export function renderFrames(kind: FrameKind, sequence: number, body: string, bytesMax: number): RenderedFrame[] {
  const whole = `${FRAME_KINDS[kind]}${sequence}\n${body}`;
  if (whole.length * CHARACTER_BYTES_MAX <= bytesMax || Buffer.byteLength(whole) <= bytesMax) return [whole];
  const bytes = Buffer.from(body);
  const pieceBytes = bytesMax - PREFIX_BYTES_MAX;
  const frames: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    const letter = start + pieceBytes < bytes.length ? FRAME_KINDS.part : FRAME_KINDS[kind];
    frames.push(Buffer.concat([Buffer.from(`${letter}${sequence + frames.length}\n`), bytes.subarray(start, start + pieceBytes)]));
  }
  return frames;
}

export function toBytes(frame: RenderedFrame): Buffer {
  return typeof frame === 'string' ? Buffer.from(frame) : frame;
}

/** The writer is alive and has sent everything up to `sequence`. */
export function renderHeartbeat(sequence: number): Buffer {
  return Buffer.from(`H${sequence}\n`);
}

/** Returns undefined for anything else than a frame. */
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

/** Asks for every frame after `sequence`. Older writers ignore it. */
export function renderResume(sequence: number): Buffer {
  return Buffer.from(`R${sequence}`);
}

/** Parses a message of the reader. Returns undefined for anything else. */
export function parseControl(data: Uint8Array): Control | undefined {
  if (data[0] === STOP_LETTER) return { kind: data[1] === DETACH_LETTER ? 'detach' : 'stop' };
  if (data[0] !== CREDIT_LETTER && data[0] !== RESUME_LETTER) return undefined;
  const sequence = parseDecimal(data, 1, data.length);
  return sequence < 0 ? undefined : { kind: data[0] === CREDIT_LETTER ? 'credit' : 'resume', sequence };
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
