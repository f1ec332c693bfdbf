import { randomUUID } from 'node:crypto';
import { longOr } from '#testing/long-run.js';
import { PRICE } from '../../test/ledger-fixture.js';
import { MemoryLedger } from '../../test/memory-ledger.js';
import { makeBudgets, makeTenants, RandomTraffic } from '../../test/random-traffic.js';
import { type BudgetState, highestReached, isPerValue } from '../budgets/budget.js';
import { windowAt } from '../calendar/budget-window.js';
import type { AccountState, NewEvent } from './batch.js';

const TIMES = { leaseMs: 60_000, reaperGraceMs: 30_000 };
const SEEDS = longOr(16, 2_000);
/** From here on, 40 seeds reach every threshold. */
const FIRST_SEED = 110;
const STEPS = 150;
const NOW = 1_800_000_000_000;
const [ACCOUNT, PROJECT, KEY, BUDGET] = Array.from({ length: 4 }, () => randomUUID()) as [string, string, string, string];

/** Thresholds that the runs have announced: without them the property would hold for nothing. */
const announced = new Set<number>();
const announcedForValues = new Set<number>();

test.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
  'seed %i: each threshold is announced once in its window, by the batch that reaches it',
  (seed) => {
    const traffic = new RandomTraffic(seed, []);
    const tenants = makeTenants(traffic);
    traffic.tenants.push(...tenants);
    const ledger = new MemoryLedger(TIMES);
    for (const tenant of tenants) ledger.addTenant(tenant, 100_000n);
    traffic.budgets.push(...makeBudgets(traffic, tenants));
    const thresholds = [1 + (seed % 40), 50, 80, 100];
    for (const budget of traffic.budgets) {
      const window = windowAt(budget.period, budget.timeZone, traffic.now, budget.startDay);
      const none = { spent: 0n, held: 0n, passed: 0 };
      ledger.budgets.set(budget.budgetId, { ...budget, ...none, thresholds: isPerValue(budget) ? [] : thresholds, ...window });
    }
    /** Thresholds announced in the current window of a budget, by budget. */
    const announcedByBudget = new Map<string, { windowStart: number; percents: number[] }>();

    for (let count = 0; count < STEPS; count++) {
      const step = traffic.next();
      if (step.kind === 'meter') ledger.meter(step.holdId, step.usage, step.leaseUntil);
      if (step.kind === 'budget') {
        const budget = { ...(ledger.budgets.get(step.budget.budgetId) as BudgetState), limit: step.budget.limit };
        const passed = Math.min(budget.passed, highestReached(budget));
        ledger.budgets.set(budget.budgetId, { ...budget, passed });
        const known = announcedByBudget.get(budget.budgetId);
        if (known) known.percents = known.percents.filter((percent) => percent <= passed);
      }
      if (step.kind !== 'batch') continue;
      const { rows } = ledger.apply(step.batch, step.now);
      const events = rows.events.filter(({ kind }) => kind === 'budget-threshold');
      const changed = new Set([...rows.budgets, ...rows.values].map(({ budgetId }) => budgetId));
      for (const budgetId of changed) {
        const budget = ledger.budgetAt(ledger.budgets.get(budgetId) as BudgetState, step.now);
        if (isPerValue(budget)) continue;
        const { windowStart, limit, value } = budget;
        const spent = value === undefined ? budget.spent : (ledger.valuesAt(budget, step.now).get(value)?.spent ?? 0n);
        const known = announcedByBudget.get(budgetId);
        const before = known?.windowStart === windowStart ? known.percents : [];
        const now = events.filter(({ payload }) => payload.budgetId === budgetId).map(({ payload }) => payload.percent as number);
        const reached = spent === 0n ? [] : thresholds.filter((percent) => (Number(spent) * 100) / percent >= Number(limit));
        expect(before.filter((percent) => now.includes(percent))).toEqual([]);
        expect([...before, ...now]).toEqual(expect.arrayContaining(reached));
        expect(now).toEqual(now.filter((percent) => reached.includes(percent)));
        announcedByBudget.set(budgetId, { windowStart, percents: [...before, ...now] });
        for (const percent of now) (value === undefined ? announced : announcedForValues).add(percent);
      }
      expect(events.every(({ payload }) => rows.budgets.some(({ budgetId }) => budgetId === payload.budgetId))).toBe(true);
    }
  },
);

test('the random traffic reached every threshold', () => {
  expect([...announced]).toEqual(expect.arrayContaining([50, 80, 100]));
  expect([...announcedForValues]).toEqual(expect.arrayContaining([50, 80, 100]));
});

/** A ledger of one account with a balance of 100, 60 of it held, and perhaps a budget. */
function ledgerWith(budget?: Partial<BudgetState>): MemoryLedger {
  const ledger = new MemoryLedger(TIMES);
  const funds = { topup: 100n, topupHeld: 60n, plan: 0n, planHeld: 0n, expired: 0n, grant: null, creditLine: 0n };
  ledger.accounts.set(ACCOUNT, { accountId: ACCOUNT, active: true, openHolds: 1, funds });
  const limits = { requestsPerMinuteMax: 100, concurrencyMax: 100, openHolds: 1, requestWindow: [] };
  ledger.projects.set(PROJECT, { projectId: PROJECT, accountId: ACCOUNT, enabled: true, ...limits });
  ledger.keys.set(KEY, { projectId: PROJECT, rootKeyId: KEY, disabled: false, expiresAt: Number.POSITIVE_INFINITY });
  if (budget) {
    const of = {
      budgetId: BUDGET,
      accountId: ACCOUNT,
      projectId: PROJECT,
      keyId: null,
      period: 'total',
      timeZone: 'UTC',
      startDay: 1,
      unit: 'usd',
    } as const;
    const window = { windowStart: Number.NEGATIVE_INFINITY, windowEnd: Number.POSITIVE_INFINITY };
    ledger.budgets.set(BUDGET, { ...of, limit: 30n, spent: 0n, held: 10n, thresholds: [], passed: 0, ...window, ...budget });
  }
  return ledger;
}

function listEvents(ledger: MemoryLedger, amount: number, now = NOW, attribution = {}): NewEvent[] {
  const reserve = { holdId: randomUUID(), keyId: KEY, projectId: PROJECT, accountId: ACCOUNT, requestId: 'r', model: 'm', price: PRICE };
  return ledger.apply({ settles: [], reserves: [{ ...reserve, attribution, amountPicoUsd: String(amount) }] }, now).rows.events;
}

test('the credit line is part of the balance', () => {
  const withLine = ledgerWith();
  (withLine.accounts.get(ACCOUNT) as AccountState).funds.creditLine = 10n;
  const payload = { balancePicoUsd: '110', requiredPicoUsd: '111' };
  expect(listEvents(withLine, 110)).toEqual([]);
  expect(listEvents(withLine, 111)).toEqual([{ accountId: ACCOUNT, kind: 'balance-exhausted', payload }]);
});

test('a refusal is an event when the balance could not cover it even if nothing were held', () => {
  const payload = { balancePicoUsd: '100', requiredPicoUsd: '101' };
  expect(listEvents(ledgerWith(), 100)).toEqual([]);
  expect(listEvents(ledgerWith(), 101)).toEqual([{ accountId: ACCOUNT, kind: 'balance-exhausted', payload }]);
});

test('a refusal by a budget is an event when the budget could not cover it even if nothing were held', () => {
  const of = { budgetId: BUDGET, projectId: PROJECT, keyId: null, period: 'total', windowStart: null, resetsAt: null };
  const payload = { ...of, limitPicoUsd: '30', spentPicoUsd: '5', requiredPicoUsd: '26' };
  expect(listEvents(ledgerWith({ spent: 5n }), 25)).toEqual([]);
  expect(listEvents(ledgerWith({ spent: 5n }), 26)).toEqual([{ accountId: ACCOUNT, kind: 'budget-exhausted', payload }]);
});

test('a refusal by the budget of one user is an event, by that of each user it is none', () => {
  const of = { budgetId: BUDGET, projectId: PROJECT, keyId: null, period: 'total', windowStart: null, resetsAt: null };
  const payload = { ...of, dimension: 'user', value: 'alice', limitPicoUsd: '30', spentPicoUsd: '0', requiredPicoUsd: '31' };
  const none = { dimension: 'user', held: 0n };
  expect(listEvents(ledgerWith({ ...none, value: 'alice' }), 31, NOW, { user: 'alice' })).toEqual([
    { accountId: ACCOUNT, kind: 'budget-exhausted', payload },
  ]);
  expect(listEvents(ledgerWith(none), 31, NOW, { user: 'alice' })).toEqual([]);
});

test.each([
  ['within a minute', 59_999, 0],
  ['after a minute', 60_000, 1],
  ['after the clock was set back', -1, 1],
])('of the refusals of an account one a minute is an event: %s', (_, later, count) => {
  const ledger = ledgerWith({ spent: 30n });
  expect(listEvents(ledger, 101)).toHaveLength(1);
  expect(listEvents(ledger, 1, NOW + later)).toHaveLength(count);
});

test('an account whose refusal is an event is written, so that other replicas decide from it', () => {
  const ledger = ledgerWith();
  const reserve = { holdId: randomUUID(), keyId: KEY, projectId: PROJECT, accountId: ACCOUNT, requestId: 'r', model: 'm', price: PRICE };
  const { rows } = ledger.apply({ settles: [], reserves: [{ ...reserve, amountPicoUsd: '101' }] }, NOW);
  expect(rows.accounts.map(({ accountId, announcedAt }) => ({ accountId, announcedAt }))).toEqual([
    { accountId: ACCOUNT, announcedAt: NOW },
  ]);
});
