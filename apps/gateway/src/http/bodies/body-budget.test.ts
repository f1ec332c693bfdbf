import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { BodyBudget } from './body-budget.js';

const KIB = 1024;
const LIMITS = { bodyBytesMax: 100 * KIB, bodiesInFlightBytesMax: 1024 * KIB };

/** Takes bodies until one is refused. Returns their number and the code of the refusal. */
function fill(budget: BodyBudget, accountId: string, bytes: number): [count: number, code: unknown] {
  for (let count = 0; ; count++) {
    try {
      budget.take(accountId, bytes, bytes);
    } catch (error) {
      return [count, (error as { code?: unknown }).code];
    }
  }
}

test('one account gets a quarter, and the error names its own limit [limit-body-share]', () => {
  const budget = new BodyBudget(LIMITS);
  expect(fill(budget, 'a', 64 * KIB)).toEqual([4, 'concurrency_limit']);
  expect(fill(budget, 'b', 64 * KIB)).toEqual([4, 'concurrency_limit']);
});

test('the last eighth is reserved for small bodies [limit-body-budget]', () => {
  const budget = new BodyBudget(LIMITS);
  const large = ['a', 'b', 'c', 'd'].map((accountId) => fill(budget, accountId, 65 * KIB));
  expect(large).toEqual([
    [3, 'concurrency_limit'],
    [3, 'concurrency_limit'],
    [3, 'concurrency_limit'],
    [3, 'concurrency_limit'],
  ]);
  expect(fill(budget, 'e', 100 * KIB)).toEqual([1, 'model_unavailable']);
  expect(fill(budget, 'f', 64 * KIB)).toEqual([2, 'model_unavailable']);
});

test('a body that grows beyond the small size may not use the reserve', () => {
  const budget = new BodyBudget({ bodyBytesMax: 1024 * KIB, bodiesInFlightBytesMax: 1024 * KIB });
  budget.take('a', 850 * KIB, 850 * KIB);
  budget.take('b', 60 * KIB, 60 * KIB);
  expect(() => budget.take('b', 10 * KIB, 70 * KIB)).toThrow(expect.objectContaining({ code: 'model_unavailable' }));
});

test('an account may have one body of the largest size even if its quarter is smaller', () => {
  const budget = new BodyBudget({ bodyBytesMax: 100 * KIB, bodiesInFlightBytesMax: 200 * KIB });
  expect(fill(budget, 'a', 100 * KIB)).toEqual([1, 'concurrency_limit']);
});

const steps = fc.array(fc.record({ accountId: fc.constantFrom('a', 'b', 'c', 'd', 'e'), bytes: fc.nat(150 * KIB), release: fc.boolean() }));

testCases(
  'no sequence of bodies exceeds the limits, and no bytes stay in use [limit-body-budget]',
  { usual: 300, long: 20_000 },
  steps,
  (sequence) => {
    const budget = new BodyBudget(LIMITS);
    const held: { accountId: string; bytes: number }[] = [];
    for (const { accountId, bytes, release } of sequence) {
      const ended = release ? held.pop() : undefined;
      if (ended) budget.release(ended.accountId, ended.bytes);
      try {
        budget.take(accountId, bytes, bytes);
        held.push({ accountId, bytes });
      } catch {
        // refused: nothing was taken
      }
      const sum = held.reduce((total, body) => total + body.bytes, 0);
      const ofAccount = held.filter((body) => body.accountId === accountId).reduce((total, body) => total + body.bytes, 0);
      expect(budget.bytesInUse).toBe(sum);
      expect(sum).toBeLessThanOrEqual(LIMITS.bodiesInFlightBytesMax);
      expect(ofAccount).toBeLessThanOrEqual(LIMITS.bodiesInFlightBytesMax / 4);
    }
    for (const { accountId, bytes } of held) budget.release(accountId, bytes);
    expect(budget.bytesInUse).toBe(0);
  },
);
