import fc from 'fast-check';

/** How a server writes its stream: everything the standard leaves open, and what servers do beyond it (U-13, U-14). */
export interface SseStyle {
  lineEnd: '\n' | '\r\n' | '\r';
  /** After the field's colon. */
  space: boolean;
  byteOrderMark: boolean;
  /** Lines before an event, by turns. */
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

/** A payload with line ends becomes several `data` lines. */
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

/** The same bytes in pieces; some may be empty. */
export function cutAt(bytes: Buffer, points: readonly number[]): Buffer[] {
  const sorted = points.map((point) => point % (bytes.length + 1)).sort((one, other) => one - other);
  return [...sorted, bytes.length].map((end, index) => bytes.subarray(sorted[index - 1] ?? 0, end));
}
