import type { LimitLeft } from '#contracts/billing/holds.js';

/**
 * Requests or tokens that were admitted in the last minute, oldest first: for each second with some, the time of the last admission
 * (milliseconds) and their number, so at most 61 entries. An entry counts until 60 s after its last admission: never more than the limit in
 * any 60 s, and a place frees less than a second late.
 */
export type MinuteWindow = readonly (readonly [lastAt: number, count: number])[];

const WINDOW_MS = 60_000;
const COUNTER_MS = 1_000;
export const RETRY_AFTER_SECONDS_MAX = 60;

/**
 * Returns the window without expired entries. Entries in the future were admitted before the clock was set back: they count as of now, so
 * that they expire after 60 s.
 */
export function slideWindow(window: MinuteWindow, now: number): MinuteWindow {
  const first = window.findIndex(([lastAt]) => lastAt + WINDOW_MS > now);
  const within = first === 0 ? window : first < 0 ? [] : window.slice(first);
  if (!isAhead(within, now)) return within;
  const ahead = within.filter(([lastAt]) => lastAt > now);
  return [...within.slice(0, -ahead.length), [now, countWindow(ahead)]];
}

/** True when the window has entries in the future. The result of `slideWindow` must then be stored, or they never expire. */
export function isAhead(window: MinuteWindow, now: number): boolean {
  return (window.at(-1)?.[0] ?? now) > now;
}

/** Returns the requests or tokens in a window that was slid to now. */
export function countWindow(window: MinuteWindow): number {
  let count = 0;
  for (const entry of window) count += entry[1];
  return count;
}

/** Adds what is admitted now to a window that was slid to now. */
export function addToWindow(window: MinuteWindow, now: number, count: number): MinuteWindow {
  const last = window.at(-1);
  if (last === undefined) return [[now, count]];
  return toSecond(now) === toSecond(last[0]) ? window.with(-1, [now, last[1] + count]) : [...window, [now, count]];
}

/**
 * Changes the count of what was admitted at `admittedAt`. Nothing happens when its entry has left the window; an entry that counts nothing
 * leaves it.
 */
export function correctWindow(window: MinuteWindow, admittedAt: number, change: number): MinuteWindow {
  const at = window.findIndex(([lastAt]) => toSecond(lastAt) === toSecond(admittedAt));
  const [lastAt, count] = window[at] ?? [0, 0];
  if (at < 0) return window;
  return count + change > 0 ? window.with(at, [lastAt, count + change]) : window.toSpliced(at, 1);
}

/** Returns what a window leaves of the limit at the time to which it was slid. */
export function leftInWindow(window: MinuteWindow, limit: number, now: number): LimitLeft {
  const [lastAt] = window.at(-1) ?? [now - WINDOW_MS];
  return {
    limit,
    remaining: Math.max(0, limit - countWindow(window)),
    resetSeconds: Math.ceil((lastAt + WINDOW_MS - now) / 1_000),
  };
}

/** Returns the whole seconds, 1 to 60, after which a window has room for `count` more. */
export function retryAfterSeconds(window: MinuteWindow, limit: number, now: number, count: number): number {
  let staying = countWindow(window);
  for (const [lastAt, leaving] of window) {
    staying -= leaving;
    if (staying + count <= limit) return Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil((lastAt + WINDOW_MS - now) / 1_000)));
  }
  return RETRY_AFTER_SECONDS_MAX;
}

function toSecond(milliseconds: number): number {
  return Math.floor(milliseconds / COUNTER_MS);
}
