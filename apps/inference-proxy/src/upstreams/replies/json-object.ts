import { mayHoldLongNumbers, parseExactly } from '#inference/exact-json.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { assertFewValues, holdsMoreValues } from './reply-limits.js';

/** Where the arguments of a call begin that are no text, as they are in the Messages format and from servers that forget to write them as one. */
const ARGUMENTS_AS_JSON = /"(?:arguments|input|partial_json)"\s*:\s*[{[\d-]/;

/** Reading exactly takes some fifty times as long, and while it does nobody else is served. */
const EXACT_VALUES_MAX = 20_000;

/** `JSON.parse`, but the arguments of a call keep the digits of their numbers (T-46), where there are some and not far too much besides. */
export function parseReplyJson(text: string): unknown {
  const isExact = ARGUMENTS_AS_JSON.test(text) && mayHoldLongNumbers(text) && !holdsMoreValues(text, EXACT_VALUES_MAX);
  return isExact ? parseExactly(text) : JSON.parse(text);
}

/**
 * The object a whole reply is, or the first error of a list of them; throws `UpstreamFailure` for anything else. A byte order mark may
 * precede it (U-14).
 */
export function parseReplyObject(body: string): Record<string, unknown> {
  assertFewValues(body);
  try {
    const value = parseReplyJson(body.replace(/^\ufeff/, ''));
    const reply = Array.isArray(value) ? value.find((entry) => isObject(entry) && entry.error) : value;
    if (isObject(reply)) return reply;
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply is not JSON', cause });
  }
  throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply is not an object' });
}

/** The objects of a payload: usually it is one, and some servers put theirs into a list, errors above all. */
export function objectsOf(payload: unknown): Record<string, unknown>[] {
  return (Array.isArray(payload) ? payload : [payload]).filter(isObject);
}

/** What says that there is no reason to stop yet, as a word. */
export const NO_REASON = /^(?:null|none|)$/i;

const WRAPPINGS_MAX = 4;

/**
 * The fields of an error, from what a server has in its field `error`: text, a number, a list and another `error` within are errors as
 * much as an object is. Undefined when it is empty, false or null: that says that there is none.
 */
export function errorFieldsOf(error: unknown): Record<string, unknown> | undefined {
  if (!error) return undefined;
  let inner = error;
  for (let wrappings = 0; wrappings < WRAPPINGS_MAX; wrappings++) {
    if (Array.isArray(inner)) inner = inner[0];
    else if (isObject(inner) && inner.error && inner.message === undefined) inner = inner.error;
  }
  return isObject(inner) ? inner : { message: inner ?? '', code: typeof inner === 'number' ? inner : undefined };
}

/** The first of an error's fields that is the status of an HTTP error, as a number or in digits; 0 for none. A field can be anything. */
export function findStatus(fields: readonly unknown[]): number {
  const numbers = fields.filter((field) => typeof field === 'number' || typeof field === 'string').map(Number);
  return numbers.find((number) => Number.isInteger(number) && number >= 400 && number < 600) ?? 0;
}

/** The object an error's body may be, or hold in a list: such a body can be anything. */
export function findObject(text: string): Record<string, unknown> | undefined {
  try {
    return objectsOf(JSON.parse(text))[0];
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
