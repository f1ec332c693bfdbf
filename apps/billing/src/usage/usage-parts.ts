import type { UsageStep } from '#contracts/billing/usage.js';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Times from the first, included, to the second, excluded, in milliseconds. */
export type Range = [from: number, to: number];

/** Parts of a time range, each read from another table. */
export interface UsageParts {
  /** Whole days and hours, from the rollups. */
  days: Range[];
  hours: Range[];
  /** Journal rows that are not in the rollups yet. */
  tail: Range[];
  /** Parts of an hour at either end, from the journal. */
  edges: Range[];
}

/**
 * Cuts a time range into whole days, whole hours and the rest. `newest` is the time of the newest settlement in the rollups: when the range
 * ends after it, the rollups have nothing beyond the end, and its last hour and day count as whole.
 */
export function usageParts([from, to]: Range, step: UsageStep | undefined, newest: number): UsageParts {
  const wholeTo = (unit: number): number => (to > newest ? roundUp(to, unit) : to - (to % unit));
  const hours: Range = [roundUp(from, HOUR_MS), wholeTo(HOUR_MS)];
  if (isEmpty(hours)) return { days: [], hours: [], tail: [], edges: [[from, to]] };
  const days: Range = [roundUp(from, DAY_MS), wholeTo(DAY_MS)];
  const readsDays = step !== 'hour' && !isEmpty(days);
  return {
    days: readsDays ? [days] : [],
    hours: notEmpty(
      readsDays
        ? [
            [hours[0], days[0]],
            [days[1], hours[1]],
          ]
        : [hours],
    ),
    tail: [[hours[0], Math.min(hours[1], to)]],
    edges: notEmpty([
      [from, hours[0]],
      [hours[1], to],
    ]),
  };
}

const roundUp = (time: number, unit: number): number => Math.ceil(time / unit) * unit;

const isEmpty = ([from, to]: Range): boolean => from >= to;

const notEmpty = (ranges: Range[]): Range[] => ranges.filter((range) => !isEmpty(range));
