import { RetryBudget } from './retry-budget.js';

/** Number of `wanted` retries that are allowed at one time. */
function allowed(budget: RetryBudget, wanted: number, now: number): number {
  return Array.from({ length: wanted }, () => budget.take(now)).filter(Boolean).length;
}

test('a burst is allowed, then a share of the requests', () => {
  const budget = new RetryBudget({ retryPercent: 20, retryBurst: 10 });
  expect(allowed(budget, 50, 0)).toBe(10);
  for (let request = 0; request < 26; request++) budget.onRequest();
  expect(allowed(budget, 50, 0)).toBe(5);
});

test('with little traffic one retry a second is allowed', () => {
  const budget = new RetryBudget({ retryPercent: 20, retryBurst: 10 });
  allowed(budget, 10, 0);
  expect([allowed(budget, 5, 900), allowed(budget, 5, 1_100), allowed(budget, 20, 60_000)]).toEqual([0, 1, 10]);
});

test('with a burst of 0 no retry is allowed', () => {
  const budget = new RetryBudget({ retryPercent: 0, retryBurst: 0 });
  budget.onRequest();
  expect(allowed(budget, 3, 60_000)).toBe(0);
});
