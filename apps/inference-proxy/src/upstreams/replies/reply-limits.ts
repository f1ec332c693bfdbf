import { closingQuote } from '#inference/closing-quote.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';

/*
 * Limits on what a reply may keep in memory. Output that reaches the client is limited by its token cap; these limit the rest.
 */

export const TOOL_CALLS_MAX = 128;

/** Items of a response's output, parts of one item, and blocks of the server's own tools in a message. */
export const ITEMS_MAX = 1_024;

/** Characters that cannot be passed on yet: arguments of a call without a name, or a custom tool's input in an unknown form. */
export const HELD_LENGTH_MAX = 1024 * 1024;

/** Characters of a name that comes in parts. */
export const NAME_LENGTH_MAX = 1_024;

/** Nesting of call arguments that come as JSON instead of text. */
export const JSON_DEPTH_MAX = 128;

export function overLimit(what: string): UpstreamFailure {
  return new UpstreamFailure('limit', 'upstream_error', { detail: `over limit: ${what}` });
}

/**
 * Returns call arguments as text, whatever the upstream sent in their place; undefined when there are none. Throws when they are nested
 * too deeply for the stack.
 */
export function renderArguments(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (isDeeper(value, JSON_DEPTH_MAX)) throw overLimit('levels of nesting');
  return JSON.stringify(value);
}

export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
}

/** Values in one JSON text. */
const VALUES_MAX = 200_000;

/**
 * Throws when JSON holds more values than any reply needs. Each would become an object of many times its size, and parsing them blocks
 * all other requests.
 */
export function assertFewValues(json: string, valuesMax?: number): void {
  if (holdsMoreValues(json, valuesMax)) throw overLimit('values');
}

/** True when JSON holds more than `valuesMax` values; by default, more than any reply needs. */
export function holdsMoreValues(json: string, valuesMax = VALUES_MAX): boolean {
  return json.length > valuesMax && countValues(json, valuesMax) > valuesMax;
}

/** Number of values in JSON, by the commas and opening brackets outside its strings. Stops counting beyond `valuesMax`. */
export function countValues(json: string, valuesMax: number): number {
  let values = 0;
  for (let at = 0; at < json.length && values <= valuesMax; at++) {
    const char = json.charCodeAt(at);
    if (char === 0x22) {
      at = closingQuote(json, at + 1);
      if (at === -1) break;
    } else if (char === 0x2c || char === 0x5b || char === 0x7b) values += 1;
  }
  return values;
}
