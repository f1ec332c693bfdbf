import type { RequestsLeft } from '#contracts/billing/holds.js';

/**
 * Admitted requests of the last minute, oldest first: for each second with requests, the time of the last one (milliseconds) and their
 * number, so at most 61 entries. An entry counts until 60 s after its last request: never more than the limit in any 60 s, and a place
 * frees less than a second late.
 */
export type RequestWindow = readonly (readonly [lastAt: number, count: number])[];

const WINDOW_MS = 60_000;
const COUNTER_MS = 1_000;
const RETRY_AFTER_SECONDS_MAX = 60;

/**
 * Returns the window without expired entries. Requests in the future were admitted before the clock was set back: they count as of now, so
 * that they expire after 60 s.
 */
export function slideWindow(window: RequestWindow, now: number): RequestWindow {
  const first = window.findIndex(([lastAt]) => lastAt + WINDOW_MS > now);
  const within = first === 0 ? window : first < 0 ? [] : window.slice(first);
  if (!isAhead(within, now)) return within;
  const ahead = within.filter(([lastAt]) => lastAt > now);
  return [...within.slice(0, -ahead.length), [now, countRequests(ahead)]];
}

/** True when the window has requests in the future. The result of `slideWindow` must then be stored, or they never expire. */
export function isAhead(window: RequestWindow, now: number): boolean {
  return (window.at(-1)?.[0] ?? now) > now;
}

/** Returns the number of requests in a window that was slid to now. */
export function countRequests(window: RequestWindow): number {
  let count = 0;
  for (const entry of window) count += entry[1];
  return count;
}

/** Adds one request to a window that was slid to now. */
export function admitRequest(window: RequestWindow, now: number): RequestWindow {
  const last = window.at(-1);
  if (last === undefined) return [[now, 1]];
  const sameCounter = Math.floor(now / COUNTER_MS) === Math.floor(last[0] / COUNTER_MS);
  return sameCounter ? window.with(-1, [now, last[1] + 1]) : [...window, [now, 1]];
}

/** Returns what a window leaves of the limit at the time to which it was slid. */
export function requestsLeft(window: RequestWindow, limit: number, now: number): RequestsLeft {
  const [lastAt] = window.at(-1) ?? [now - WINDOW_MS];
  return {
    limit,
    remaining: Math.max(0, limit - countRequests(window)),
    resetSeconds: Math.ceil((lastAt + WINDOW_MS - now) / 1_000),
  };
}

/** Returns the whole seconds, 1 to 60, after which a full window has a place. */
export function retryAfterSeconds(window: RequestWindow, limit: number, now: number): number {
  let staying = countRequests(window);
  for (const [lastAt, count] of window) {
    staying -= count;
    if (staying < limit) return Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil((lastAt + WINDOW_MS - now) / 1_000)));
  }
  return 1;
}
