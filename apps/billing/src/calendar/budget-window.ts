import type { BudgetPeriod } from '#contracts/billing/budgets.js';

/** Milliseconds: the start is part of the window, the end is not. A `total` has no ends. */
export interface BudgetWindow {
  windowStart: number;
  windowEnd: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 1 January 1970 was a Thursday. */
const DAYS_FROM_MONDAY = 3;
/** Clocks are at most 14 hours ahead of UTC and 12 behind. */
const OFFSET_MAX_MS = 15 * HOUR_MS;

/** The last window of each period, zone and start day: most budgets share theirs, and the search for one takes up to a millisecond. */
const lastWindows = new Map<string, BudgetWindow>();
const LAST_WINDOWS_MAX = 1_000;

/**
 * Returns the day, week or month of the zone that contains `now`. Weeks begin on `startDay` (1: Monday), months on the day `startDay`, which
 * every month has.
 */
export function windowAt(period: BudgetPeriod, timeZone: string, now: number, startDay = 1): BudgetWindow {
  if (period === 'total') return { windowStart: Number.NEGATIVE_INFINITY, windowEnd: Number.POSITIVE_INFINITY };
  const name = `${period} ${timeZone} ${startDay}`;
  const last = lastWindows.get(name);
  if (last && isWithin(last, now, now)) return last;
  const dayAt = makeCalendar(timeZone);
  const [first, next] = findDays(period, dayAt(now), startDay);
  const window = { windowStart: findStart(first, dayAt), windowEnd: findStart(next, dayAt) };
  if (lastWindows.size >= LAST_WINDOWS_MAX) lastWindows.clear();
  lastWindows.set(name, window);
  return window;
}

/** True when the window contains every moment from `from` to `to`. */
export function isWithin({ windowStart, windowEnd }: BudgetWindow, from: number, to: number): boolean {
  return windowStart <= from && to < windowEnd;
}

export function isTimeZone(name: string): boolean {
  try {
    // Offsets such as +01:00 are no names: they do not follow the clocks of a place.
    return /^[A-Za-z]/.test(name) && makeCalendar(name) !== undefined;
  } catch {
    return false;
  }
}

/** Returns the first day of the period and of the next one, in days since 1970. */
function findDays(period: 'day' | 'week' | 'month', day: number, startDay: number): [first: number, next: number] {
  if (period === 'day') return [day, day + 1];
  if (period === 'week') {
    const first = day - ((day + DAYS_FROM_MONDAY + 8 - startDay) % 7);
    return [first, first + 7];
  }
  const date = new Date(day * DAY_MS);
  const month = date.getUTCDate() < startDay ? date.getUTCMonth() - 1 : date.getUTCMonth();
  const firstDayIn = (month: number): number => Date.UTC(date.getUTCFullYear(), month, startDay) / DAY_MS;
  return [firstDayIn(month), firstDayIn(month + 1)];
}

/** Returns a function from a moment to its date in the zone, in days since 1970. */
function makeCalendar(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, calendar: 'gregory', year: 'numeric', month: 'numeric', day: 'numeric' });
  return (at) => {
    const [month, day, year] = format.format(at).split('/').map(Number) as [number, number, number];
    return Date.UTC(year, month - 1, day) / DAY_MS;
  };
}

/** Returns the first moment of a day. Searched, because a day that begins with a change of the clocks has no midnight. */
function findStart(day: number, dayAt: (at: number) => number): number {
  let before = day * DAY_MS - OFFSET_MAX_MS;
  let start = day * DAY_MS + OFFSET_MAX_MS;
  while (start - before > 1) {
    const middle = Math.floor((before + start) / 2);
    if (dayAt(middle) < day) before = middle;
    else start = middle;
  }
  return start;
}
