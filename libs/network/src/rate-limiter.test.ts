import fc from 'fast-check';
import { RateLimiter } from './rate-limiter.js';

function limiter(perSecond: number, burst: number, entriesMax = 10) {
  const clock = { now: 0 };
  return { clock, rates: new RateLimiter(perSecond, burst, entriesMax, () => clock.now) };
}

test('a burst is admitted, then one request for each new token', () => {
  const { clock, rates } = limiter(2, 3);
  const taken = [rates.take('a'), rates.take('a'), rates.take('a'), rates.take('a')];
  clock.now = 499;
  const early = rates.take('a');
  clock.now = 500;
  expect([taken, early, rates.take('a'), rates.take('a')]).toEqual([[0, 0, 0, 500], 1, 0, 500]);
});

test('the wait is exact, and reading it takes no token', () => {
  const { clock, rates } = limiter(10, 1);
  rates.take('a');
  clock.now = 40;
  expect([rates.waitMs('a'), rates.waitMs('a'), rates.take('a')]).toEqual([60, 60, 60]);
  clock.now = 100;
  expect([rates.waitMs('a'), rates.take('a')]).toEqual([0, 0]);
});

test('at the limit of entries the least recently used one is dropped', () => {
  const { rates } = limiter(1, 2, 2);
  rates.take('a');
  rates.take('b');
  rates.take('a');
  rates.take('c');
  expect([rates.waitMs('a') > 0, rates.take('b'), rates.take('b')]).toEqual([true, 0, 0]);
});

test('no sequence of requests exceeds the burst plus the rate', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), steps, (perSecond, burst, pauses) => {
      const { clock, rates } = limiter(perSecond, burst);
      let admitted = 0;
      for (const pause of pauses) {
        clock.now += pause;
        if (rates.take('a') === 0) admitted++;
        expect(admitted).toBeLessThanOrEqual(burst + (clock.now * perSecond) / 1_000 + 1e-6);
      }
    }),
  );
});
