import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { DAY_MS, HOUR_MS, type Range, usageParts } from './usage-parts.js';

const NEVER = Number.NEGATIVE_INFINITY;
const hours = (count: number): number => count * HOUR_MS;

test('two days and a bit, of which nothing is newer than the end', () => {
  expect(usageParts([hours(22) + 1, hours(74) + 2], undefined, hours(80))).toEqual({
    days: [[hours(24), hours(72)]],
    hours: [
      [hours(23), hours(24)],
      [hours(72), hours(74)],
    ],
    tail: [[hours(23), hours(74)]],
    edges: [
      [hours(22) + 1, hours(23)],
      [hours(74), hours(74) + 2],
    ],
  });
});

test('a range that ends after the newest settlement needs no part of an hour at its end', () => {
  expect(usageParts([hours(22) + 1, hours(74) + 2], 'day', hours(74) + 1)).toEqual({
    days: [[hours(24), hours(96)]],
    hours: [[hours(23), hours(24)]],
    tail: [[hours(23), hours(74) + 2]],
    edges: [[hours(22) + 1, hours(23)]],
  });
});

test('a series of hours reads no days', () => {
  expect(usageParts([0, 2 * DAY_MS], 'hour', NEVER)).toEqual({
    days: [],
    hours: [[0, 2 * DAY_MS]],
    tail: [[0, 2 * DAY_MS]],
    edges: [],
  });
});

test('a part of one hour is read from the journal', () => {
  expect(usageParts([1, 2], 'day', hours(1))).toEqual({ days: [], hours: [], tail: [], edges: [[1, 2]] });
});

const time = fc.integer({ min: 0, max: 5 * DAY_MS });
const boundary = fc.oneof(
  time,
  time.map((at) => at - (at % HOUR_MS)),
  time.map((at) => at - (at % DAY_MS)),
);

testCases(
  'each settlement of a range is in one part, whether it is in the rollups or not',
  { usual: 2_000, long: 200_000 },
  fc.record({ from: boundary, to: boundary, newest: time, at: time, step: fc.constantFrom('hour', 'day', undefined) }),
  ({ from, to, newest, at, step }) => {
    if (from >= to) return;
    const { days, hours, tail, edges } = usageParts([from, to], step, newest);
    const within = (ranges: Range[], unit = 1): number =>
      ranges.filter((range) => range[0] <= at - (at % unit) && at - (at % unit) < range[1]).length;
    const isInRange = from <= at && at < to ? 1 : 0;
    expect(within(tail) + within(edges)).toBe(isInRange);
    // The rollups have no settlement after the newest.
    if (at <= newest) expect(within(days, DAY_MS) + within(hours, HOUR_MS) + within(edges)).toBe(isInRange);
  },
);
