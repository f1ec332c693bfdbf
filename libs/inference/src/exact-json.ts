/**
 * JSON that is to be written again as it was. The arguments of a call are text in the canonical model; formats in which they
 * are objects read them with this, so that numbers with more digits than a double has keep them (T-46). Such a number becomes
 * an object that only `JSON.stringify` understands. Throws `SyntaxError`, like `JSON.parse`.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
}

/** Numbers of no more digits than this are exact in a double. */
const DOUBLE_DIGITS_MAX = 15;

function keepDigits(_key: string, value: unknown, { source = '' }: { source?: string }): unknown {
  if (typeof value !== 'number') return value;
  const isExact = Number.isFinite(value) && (source.length <= DOUBLE_DIGITS_MAX || String(value) === source);
  return isExact ? value : RAW.rawJSON(source);
}

/** A number with more characters than it may have to be exact, or with an exponent beyond a double. */
const LONG_NUMBER = /[\d.eE+-]{16}|\d[eE]\+?\d{3}/;

/** Whether `parseExactly` may find a number to keep, at a fraction of its time. Says yes also where one stands in a text. */
export function mayHoldLongNumbers(text: string): boolean {
  return LONG_NUMBER.test(text);
}

/** Whether it is a number that `parseExactly` has kept as it was written. */
export function isExactNumber(value: object): boolean {
  return RAW.isRawJSON(value);
}

/** In the language since ES2026, not yet in its typings. */
const RAW = JSON as unknown as { rawJSON(text: string): object; isRawJSON(value: unknown): boolean };
