import { mayHoldLongNumbers, parseExactly } from '#inference/exact-json.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { assertFewValues, holdsMoreValues } from './reply-limits.js';

/** Beginning of call arguments that are JSON instead of a string: in the Messages and Gemini dialects, and from servers that do not encode them. */
const ARGUMENTS_AS_JSON = /"(?:arguments|args|input|partial_json)"\s*:\s*[{[\d-]/;

/** Values up to which numbers keep their digits. That takes some fifty times as long, and blocks other requests. */
const EXACT_VALUES_MAX = 20_000;

/** Like `JSON.parse`, but numbers in call arguments keep their digits, unless there are too many values. */
export function parseReplyJson(text: string): unknown {
  const isExact = ARGUMENTS_AS_JSON.test(text) && mayHoldLongNumbers(text) && !holdsMoreValues(text, EXACT_VALUES_MAX);
  return isExact ? parseExactly(text) : JSON.parse(text);
}

/**
 * Returns the object of a plain reply, or the first error of a list. Throws `UpstreamFailure` for anything else, and beyond `valuesMax`
 * (default: more than a reply in words needs). Skips a byte order mark.
 */
export function parseReplyObject(body: string, valuesMax?: number): Record<string, unknown> {
  assertFewValues(body, valuesMax);
  try {
    const value = parseReplyJson(body.replace(/^\ufeff/, ''));
    const reply = Array.isArray(value) ? value.find((entry) => isObject(entry) && entry.error) : value;
    if (isObject(reply)) return reply;
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply is not JSON', cause });
  }
  throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply is not an object' });
}

/** Returns the events in the payload of an SSE event. Throws `UpstreamFailure` when it is not JSON. */
export function parseEvents(payload: string): Record<string, unknown>[] {
  assertFewValues(payload);
  try {
    return listObjects(parseReplyJson(payload));
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'event is not JSON', cause });
  }
}

/** Returns the objects of a payload: usually one; some servers wrap theirs, errors above all, in a list. */
function listObjects(payload: unknown): Record<string, unknown>[] {
  return (Array.isArray(payload) ? payload : [payload]).filter(isObject);
}

/** Words that mean that there is no finish reason yet. */
export const NO_REASON = /^(?:null|none|undefined|(?:(?:\w{1,16}_)?reason_)?unspecified|not_finished|unfinished|in_progress|)$/i;

const WRAPPINGS_MAX = 4;

/**
 * Returns the fields of an error from a field `error`, which may be an object, text, a number, a list, or wrap another `error`. Returns
 * undefined when it is empty, false or null: then there is no error.
 */
export function findErrorFields(error: unknown): Record<string, unknown> | undefined {
  if (!error) return undefined;
  let inner = error;
  for (let wrappings = 0; wrappings < WRAPPINGS_MAX; wrappings++) {
    if (Array.isArray(inner)) inner = inner[0];
    else if (isObject(inner) && inner.error && inner.message === undefined) inner = inner.error;
  }
  return isObject(inner) ? inner : { message: inner ?? '', code: typeof inner === 'number' ? inner : undefined };
}

/** Returns the first field that is the status of an HTTP error, as a number or in digits; 0 when there is none. */
export function findStatus(fields: readonly unknown[]): number {
  const numbers = fields.filter((field) => typeof field === 'number' || typeof field === 'string').map(Number);
  return numbers.find((number) => Number.isInteger(number) && number >= 400 && number < 600) ?? 0;
}

/** Returns the object that an error's body is, or contains in a list; undefined for any other body. */
export function findObject(text: string): Record<string, unknown> | undefined {
  return listObjects(parseJson(text))[0];
}

/** Returns the value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the text of an error; as JSON when it is not a string. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return 'error text nested too deeply';
  }
}

/** Returns the message of an error if it is text, or the list of faults that FastAPI sends (`[{loc, msg}]`); undefined for any other. */
export function findMessage(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const faults = Array.isArray(value) ? value.filter(isObject).filter(({ msg }) => typeof msg === 'string') : [];
  if (faults.length === 0) return undefined;
  return faults.map(({ loc, msg }) => (Array.isArray(loc) ? `${loc.filter(isName).join('.')}: ${msg}` : msg)).join('; ');
}

function isName(part: unknown): part is string | number {
  return typeof part === 'string' || typeof part === 'number';
}

/** Returns the value if it is an object, otherwise an empty one. */
export function toObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
