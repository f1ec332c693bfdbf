/**
 * Parses JSON that will be written again unchanged. Call arguments are text in the canonical model; formats that need them as objects
 * parse them with this function, so that numbers beyond a double keep all digits. Such a number becomes an object that only
 * `JSON.stringify` can read. Throws `SyntaxError`, like `JSON.parse`.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
}

/** Numbers of up to this many digits are exact in a double. */
const DOUBLE_DIGITS_MAX = 15;

function keepDigits(_key: string, value: unknown, { source = '' }: { source?: string }): unknown {
  if (typeof value !== 'number') return value;
  const isExact = Number.isFinite(value) && (source.length <= DOUBLE_DIGITS_MAX || String(value) === source);
  return isExact ? value : RAW.rawJSON(source);
}

/** Returns a number that `JSON.stringify` writes with all digits of its text. Throws `SyntaxError` for a text that is no JSON number. */
export function exactNumber(text: string): object {
  return RAW.rawJSON(text);
}

/** A number with too many characters to be exact, or with an exponent beyond a double. */
const LONG_NUMBER = /\d(?:[\d.eE+-]{15}|[eE]\+?\d{3})|-\d[\d.eE+-]{14}/;

/** True when `parseExactly` may find a number to keep, also for a long number inside a string. Takes at most some 30 ns a character. */
export function mayHoldLongNumbers(text: string): boolean {
  return LONG_NUMBER.test(text);
}

/** True for a number that `parseExactly` kept as text. */
export function isExactNumber(value: object): boolean {
  return RAW.isRawJSON(value);
}

/** Part of ES2026, and missing in the type definitions. */
const RAW = JSON as unknown as { rawJSON(text: string): object; isRawJSON(value: unknown): boolean };
