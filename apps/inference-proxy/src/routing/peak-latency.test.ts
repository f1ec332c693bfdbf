import { PeakLatency } from './peak-latency.js';

function after(...observed: [ms: number, at: number][]): PeakLatency {
  const latency = new PeakLatency();
  for (const [ms, at] of observed) latency.observe(ms, at);
  return latency;
}

test('nothing is known before the first answer, seconds after the last, and when it was forgotten', () => {
  expect(after().readMs(5)).toBeUndefined();
  expect(after([100, 0]).readMs(4_000)).toBeGreaterThan(0);
  expect(after([100, 0]).readMs(4_001)).toBeUndefined();
  const forgotten = after([2_000, 0]);
  forgotten.forget();
  expect(forgotten.readMs(1)).toBeUndefined();
  forgotten.observe(20, 2);
  expect(forgotten.readMs(2)).toBe(20);
});

test('a slow answer counts at once, fast ones little by little', () => {
  expect(after([100, 0], [1_000, 10]).readMs(10)).toBe(1_000);
  expect(after([1_000, 0], [100, 1_000]).readMs(1_000)).toBeCloseTo(100 + 900 * Math.exp(-1 / 2), 6);
});

test('a route that was ten times slower looks no more than twice as slow after some seconds without an answer', () => {
  const slow = after([1_000, 0]);
  expect(slow.readMs(3_000)).toBeGreaterThan(200);
  expect(slow.readMs(3_500)).toBeLessThan(200);
});
