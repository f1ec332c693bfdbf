import type { IncomingHttpHeaders } from 'node:http';
import { headAndTail } from './head-and-tail.js';

/**
 * Returns when to call again, in whole seconds from 1 to 60: from `Retry-After` (seconds or a date), `retry-after-ms`, the text
 * "try again in 20s", or the `x-ratelimit-reset-*` header of an exhausted limit. Those headers come with every reply.
 */
export function parseRetryAfter(headers: IncomingHttpHeaders, text: string, now = Date.now()): number | undefined {
  const seconds =
    fromMilliseconds(single(headers['retry-after-ms'])) ??
    fromSecondsOrDate(single(headers['retry-after']), now) ??
    fromDuration(
      /(?:try again|retry)(?: again)? (?:in|after) ([\d.]{1,20} ?(?:ms|s|m|h|milliseconds?|seconds?|minutes?|hours?)?)/i.exec(
        headAndTail(text),
      )?.[1],
    ) ??
    fromExhausted(headers, 'requests') ??
    fromExhausted(headers, 'tokens');
  return seconds === undefined ? undefined : Math.min(60, Math.max(1, Math.ceil(seconds)));
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function fromExhausted(headers: IncomingHttpHeaders, what: 'requests' | 'tokens'): number | undefined {
  const remaining = single(headers[`x-ratelimit-remaining-${what}`]);
  return remaining === undefined || Number(remaining) <= 0 ? fromDuration(single(headers[`x-ratelimit-reset-${what}`])) : undefined;
}

function fromMilliseconds(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value) ? Number(value) / 1000 : undefined;
}

function fromSecondsOrDate(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : (date - now) / 1000;
}

const UNIT_SECONDS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600 };

const DURATION_LENGTH_MAX = 64;

/** `20s`, `6m0s`, `250ms`, `2 seconds`, or bare seconds. */
function fromDuration(value: string | undefined): number | undefined {
  if (value === undefined || value.length > DURATION_LENGTH_MAX) return undefined;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  let seconds: number | undefined;
  for (const [, amount, unit = ''] of value.matchAll(/(\d+(?:\.\d+)?)\s*(ms|millis|s|m|h)/gi)) {
    const size = UNIT_SECONDS[unit.toLowerCase() === 'millis' ? 'ms' : unit.toLowerCase()] ?? 0;
    seconds = (seconds ?? 0) + Number(amount) * size;
  }
  return seconds;
}
