import { setTimeout as delay } from 'node:timers/promises';
import { poissonArrivals, sendOnSchedule } from './open-loop.mjs';
import { quantile } from './quantile.mjs';

test.each([
  ['of none', [], 0.99, 0],
  ['of one', [7], 0.99, 7],
  ['the middle', [1, 2, 3, 4], 0.5, 2],
  ['the first', [1, 2, 3, 4], 0, 1],
  ['the last', [1, 2, 3, 4], 1, 4],
  ['99 % of a hundred', Array.from({ length: 100 }, (_, index) => index + 1), 0.99, 99],
  ['99 % of two hundred', Array.from({ length: 200 }, (_, index) => index + 1), 0.99, 198],
])('quantile: %s', (_, values, share, expected) => {
  expect(quantile(values, share)).toBe(expected);
});

test('arrivals are those of a Poisson process: the rate, the gaps, and the same times for the same seed', () => {
  const times = poissonArrivals({ rate: 500, seconds: 40, seed: 7 });
  const gaps = Array.from(times.subarray(1), (time, index) => time - (times[index] ?? 0)).sort((one, other) => one - other);
  expect(times.length / 40).toBeGreaterThan(480);
  expect(times.length / 40).toBeLessThan(520);
  expect(gaps[0]).toBeGreaterThanOrEqual(0);
  expect(times.at(-1)).toBeLessThan(40_000);
  // An exponential distribution with a mean of 2 ms: its median is ln 2 of the mean, its 99th percentile ln 100.
  expect(quantile(gaps, 0.5)).toBeCloseTo(2 * Math.LN2, 1);
  expect(quantile(gaps, 0.99) / 2 / Math.log(100)).toBeCloseTo(1, 0);
  expect(poissonArrivals({ rate: 500, seconds: 40, seed: 7 })).toEqual(times);
  expect(poissonArrivals({ rate: 500, seconds: 40, seed: 8 })).not.toEqual(times);
});

test('a stall of the target is in the latency of every request that was due during it', async () => {
  const arrivals = Array.from({ length: 20 }, (_, index) => index * 10);
  const latencies: number[] = [];
  let stalled = 0;
  const { unsentMs, slotsUsed } = await sendOnSchedule({
    arrivals,
    slots: ['only'],
    giveUpMs: 10_000,
    send: async (_slot, due) => {
      if (latencies.length === 2) {
        const from = performance.now();
        await delay(100);
        stalled = performance.now() - from;
      }
      latencies.push(performance.now() - due);
    },
  });
  expect({ unsentMs, slotsUsed, sent: latencies.length }).toEqual({ unsentMs: [], slotsUsed: 1, sent: 20 });
  // A client that waits for its reply would measure one slow request; here those behind it are slow as well.
  const slow = latencies.slice(2, 7).map((latency, position) => latency - (stalled - 10 * position));
  expect(Math.min(...slow)).toBeGreaterThanOrEqual(-1);
});

test('requests that are due at once use a slot each, and the next one waits', async () => {
  const seen: string[] = [];
  const { slotsUsed } = await sendOnSchedule({
    arrivals: [0, 0, 0],
    slots: ['a', 'b'],
    giveUpMs: 10_000,
    send: async (slot: string) => {
      seen.push(slot);
      await delay(5);
    },
  });
  expect({ seen, slotsUsed }).toEqual({ seen: ['a', 'b', 'a'], slotsUsed: 2 });
});

test('a target that falls behind is given up, and what was due counts with the time that it waited', async () => {
  let sent = 0;
  const { unsentMs } = await sendOnSchedule({
    arrivals: Array.from({ length: 1_000 }, (_, index) => index),
    slots: [0],
    giveUpMs: 40,
    send: async () => {
      sent++;
      await delay(20);
    },
  });
  expect(sent).toBeLessThan(20);
  expect(unsentMs.length).toBeGreaterThanOrEqual(40);
  expect(Math.max(...unsentMs)).toBeGreaterThan(40);
  expect(Math.min(...unsentMs)).toBeGreaterThanOrEqual(0);
});
