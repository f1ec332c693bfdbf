import fc from 'fast-check';

/** Style in which a server writes its stream: the freedoms of the standard, and what servers do beyond it. */
interface SseStyle {
  lineEnd: '\n' | '\r\n' | '\r';
  /** A space after the colon of a field. */
  space: boolean;
  byteOrderMark: boolean;
  /** Lines before an event, used in rotation. */
  before: string[];
  lastBlankLine: boolean;
}

export const sseStyles: fc.Arbitrary<SseStyle> = fc.record({
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  space: fc.boolean(),
  byteOrderMark: fc.boolean(),
  before: fc.array(fc.constantFrom('', ': comment 🙂', ':', 'event: message', 'id: 1', 'retry: 3000', 'x'), { minLength: 1, maxLength: 4 }),
  lastBlankLine: fc.boolean(),
});

/** Writes each payload as an event; one with line ends becomes several `data` lines. */
export function encoded(payloads: readonly string[], { lineEnd, space, byteOrderMark, before, lastBlankLine }: SseStyle): Buffer {
  const field = space ? 'data: ' : 'data:';
  const lines = payloads.flatMap((payload, index) => {
    const extra = before[index % before.length];
    return [...(extra === undefined ? [] : [extra]), ...payload.split(/\r\n|\r|\n/).map((line) => field + line), ''];
  });
  if (!lastBlankLine) lines.pop();
  const text = lines.map((line) => line + lineEnd).join('');
  return Buffer.from((byteOrderMark ? '\ufeff' : '') + (lastBlankLine ? text : text.slice(0, -lineEnd.length)));
}

/** Cuts the bytes into pieces; some may be empty. */
export function cutAt(bytes: Buffer, points: readonly number[]): Buffer[] {
  const sorted = points.map((point) => point % (bytes.length + 1)).sort((one, other) => one - other);
  return [...sorted, bytes.length].map((end, index) => bytes.subarray(sorted[index - 1] ?? 0, end));
}
