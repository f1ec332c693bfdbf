import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { computePercentiles, findBucket } from './histogram.js';

function histogram(values: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(findBucket(value), (counts.get(findBucket(value)) ?? 0) + 1);
  return counts;
}

testCases(
  'percentiles and the mean are less than 5 % off',
  { usual: 200, long: 20_000 },
  fc.array(fc.double({ min: 1, max: 86_400_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
  (values) => {
    const sorted = values.toSorted((one, other) => one - other);
    const found = computePercentiles(histogram(values));
    for (const [name, share] of [['p50', 0.5] as const, ['p95', 0.95] as const, ['p99', 0.99] as const]) {
      const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
      expect(Math.abs((found?.[name] ?? 0) - exact) / exact).toBeLessThan(0.05);
    }
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(Math.abs((found?.mean ?? 0) - mean) / mean).toBeLessThan(0.05);
  },
);

test('histograms of parts add up to that of the whole', () => {
  const parts = [histogram([3, 40, 500]), histogram([3, 41, 7_000])];
  const merged = new Map<number, number>();
  for (const part of parts) for (const [bucket, count] of part) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  expect(computePercentiles(merged)).toEqual(computePercentiles(histogram([3, 40, 500, 3, 41, 7_000])));
});

test('no requests have no percentiles; less than a millisecond is 0; days are one bucket', () => {
  expect([computePercentiles(new Map()), computePercentiles(histogram([0.4])), findBucket(10 ** 9), findBucket(10 ** 12)]).toEqual([
    null,
    { p50: 0, p95: 0, p99: 0, mean: 0 },
    200,
    200,
  ]);
});
