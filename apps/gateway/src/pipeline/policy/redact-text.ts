/** Stands for what a policy has redacted. It fits within a string of JSON. */
export const REDACTED = '[redacted]';

interface Span {
  start: number;
  end: number;
}

/**
 * Returns the text with its spans replaced, those that touch or overlap as one. Positions count code points. Undefined when a span ends after
 * the text.
 */
export function redactText(text: string, spans: readonly Span[]): string | undefined {
  let redacted = '';
  let unit = 0;
  let point = 0;
  for (const { start, end } of mergeSpans(spans)) {
    const from = advance(text, unit, start - point);
    const to = advance(text, from, end - start);
    if (to > text.length) return undefined;
    redacted += text.slice(unit, from) + REDACTED;
    unit = to;
    point = end;
  }
  return redacted + text.slice(unit);
}

function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

/** Returns the index that is some code points further; one beyond the length when there are fewer. */
function advance(text: string, from: number, points: number): number {
  let at = from;
  for (let left = points; left > 0; left--) {
    if (at >= text.length) return text.length + 1;
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return at;
}
