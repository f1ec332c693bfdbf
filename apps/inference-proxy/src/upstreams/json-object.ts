import { parseExactly } from '#inference/exact-json.js';
import { UpstreamFailure } from '../upstream-failure.js';
import { assertFewValues } from './reply-limits.js';

/** Where the arguments of a call begin that come as an object, as they do in the Messages format and from servers that forget to write them as text. */
const OBJECT_ARGUMENTS = /"(?:arguments|input)"\s*:\s*\{/;

/** `JSON.parse`, but the arguments of a call keep the digits of their numbers (T-46): reading exactly is slow, so only where there are some. */
export function parseReplyJson(text: string): unknown {
  return OBJECT_ARGUMENTS.test(text) ? parseExactly(text) : JSON.parse(text);
}

/** The object a whole reply is; throws `UpstreamFailure` for anything else. A byte order mark may precede it (U-14). */
export function parseReplyObject(body: string): Record<string, unknown> {
  assertFewValues(body);
  try {
    const value = parseReplyJson(body.replace(/^\ufeff/, ''));
    if (isObject(value)) return value;
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply that is not JSON', cause });
  }
  throw new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply that is not an object' });
}

/** The first of an error's fields that is the status of an HTTP error, as a number or in digits; 0 for none. A field can be anything. */
export function findStatus(fields: readonly unknown[]): number {
  const numbers = fields.filter((field) => typeof field === 'number' || typeof field === 'string').map(Number);
  return numbers.find((number) => Number.isInteger(number) && number >= 400 && number < 600) ?? 0;
}

/** The object an error's body may be: such a body can be anything. */
export function findObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The words of an error, which can be anything: as JSON, where they are no text. */
export function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return 'words nested too deeply to be read';
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
