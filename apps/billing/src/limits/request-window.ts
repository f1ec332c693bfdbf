/**
 * Admitted requests of the last minute, one entry for each second that had any: when the last of them came (milliseconds)
 * and how many there were; oldest first, so at most 61 entries. An entry counts until 60 s after its last request:
 * there are never more than the limit in any 60 s, and a place becomes free less than a second late (billing.md 6).
 */
export type RequestWindow = readonly (readonly [lastAt: number, count: number])[];

const WINDOW_MS = 60_000;
const COUNTER_MS = 1_000;
const RETRY_AFTER_SECONDS_MAX = 60;

/** The window without what has left it. */
export function slideWindow(window: RequestWindow, now: number): RequestWindow {
  const first = window.findIndex(([lastAt]) => lastAt + WINDOW_MS > now);
  return first === 0 ? window : first < 0 ? [] : window.slice(first);
}

/** Requests in a window that was slid to now. */
export function countRequests(window: RequestWindow): number {
  let count = 0;
  for (const entry of window) count += entry[1];
  return count;
}

/** The window with one more request. A clock that stepped back counts as standing still. */
export function admitRequest(window: RequestWindow, now: number): RequestWindow {
  const last = window.at(-1);
  if (last === undefined) return [[now, 1]];
  const at = Math.max(now, last[0]);
  const sameCounter = Math.floor(at / COUNTER_MS) === Math.floor(last[0] / COUNTER_MS);
  return sameCounter ? window.with(-1, [at, last[1] + 1]) : [...window, [at, 1]];
}

/** Whole seconds, 1 to 60, after which a full window has a place again: neither sooner nor a second later. */
export function retryAfterSeconds(window: RequestWindow, limit: number, now: number): number {
  let staying = countRequests(window);
  for (const [lastAt, count] of window) {
    staying -= count;
    if (staying < limit) return Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil((lastAt + WINDOW_MS - now) / 1_000)));
  }
  return 1;
}
