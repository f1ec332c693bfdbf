import type { BudgetSetRequest } from '#contracts/billing/budgets.js';
import type { ReserveRequest } from '#contracts/billing/holds.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { listBudgets, setBudget } from './budgets.js';
import { listBudgetValues } from './list-values.js';

/** Budgets of tokens, which count the tokens of prompts and outputs instead of costs. */
const ledger = await LedgerFixture.open({ guarded: true });
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const set = (customer: Customer, request: Partial<BudgetSetRequest>) =>
  setBudget(ledger.prisma, { accountId: customer.accountId, period: 'day', limitTokens: 1_000, ...request });

/** A reserve that costs one pico-dollar. */
function reserveTokens(customer: Customer, amountTokens: number, more: Partial<ReserveRequest> = {}): ReserveRequest {
  return { ...makeReserve(customer, 1n), amountTokens, ...more };
}

function settle(lanes: HoldLanes, { accountId }: Customer, { holdId }: ReserveRequest, tokens: number) {
  return lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(tokens - 1, 1, tokens - 1) });
}

/** Returns what each budget of the account has spent and holds. */
async function used({ accountId }: Customer): Promise<unknown[]> {
  const { budgets } = await listBudgets(ledger.prisma, { accountId });
  return budgets.map(({ spentTokens, heldTokens }) => [spentTokens, heldTokens]);
}

test('a target has one budget of each period and unit', async () => {
  const customer = await ledger.customer();
  const { accountId } = customer;
  const money = await set(customer, { limitTokens: undefined, limitPicoUsd: '7' });
  const tokens = await set(customer, {});
  expect(tokens).toEqual({
    ...{ budgetId: tokens.budgetId, accountId, projectId: null, keyId: null, dimension: null, value: null },
    ...{ period: 'day', timeZone: 'UTC', startDay: 1, unit: 'tokens', limitTokens: 1_000, spentTokens: 0, heldTokens: 0 },
    ...{ thresholds: [50, 80, 100], windowStart: money.windowStart, resetsAt: money.resetsAt, createdAt: tokens.createdAt },
  });
  expect(await set(customer, { limitTokens: 9 })).toEqual({ ...tokens, limitTokens: 9 });
  expect(await listBudgets(ledger.prisma, { accountId })).toEqual({ budgets: [money, { ...tokens, limitTokens: 9 }] });
  const { rows } = await ledger.sql.query('SELECT before, after FROM billing.audit WHERE target = $1 ORDER BY id', [
    `budget/${tokens.budgetId}`,
  ]);
  const place = { period: 'day', projectId: null, keyId: null };
  expect(rows).toEqual([
    { before: null, after: expect.objectContaining({ limitTokens: 1_000, startDay: 1 }) },
    { before: { ...place, limitTokens: 1_000 }, after: { ...place, limitTokens: 9 } },
  ]);
});

test('a request holds the most tokens that it can use, and spends those that it has used, cached ones too', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const budget = await set(customer, { projectId: customer.projectId });
  const lanes = ledger.newLanes();
  const first = reserveTokens(customer, 600);
  await lanes.reserve(first);
  const { projectId, keyId } = budget;
  expect(await lanes.reserve(reserveTokens(customer, 401))).toEqual({
    ...{ status: 'refused', holdId: expect.any(String), code: 'insufficient_balance', requiredPicoUsd: '1', availablePicoUsd: '999' },
    budget: {
      ...{ budgetId: budget.budgetId, projectId, keyId, period: 'day' },
      ...{ limitTokens: 1_000, spentTokens: 0, heldTokens: 600, leftTokens: 400, resetsAt: budget.resetsAt },
    },
  });
  expect(await used(customer)).toEqual([[0, 600]]);
  await settle(lanes, customer, first, 250);
  expect(await used(customer)).toEqual([[250, 0]]);
  expect(await lanes.reserve(reserveTokens(customer, 750))).toMatchObject({ status: 'held' });
});

test.each(['day', 'total'] as const)('a budget of a %s that is set later counts the tokens that were used and are held', async (period) => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const [settled, open] = [reserveTokens(customer, 100), reserveTokens(customer, 30)];
  for (const reserve of [settled, open]) await lanes.reserve(reserve);
  await settle(lanes, customer, settled, 70);
  const { spentTokens, heldTokens } = await set(customer, { period, keyId: customer.keyId });
  expect([spentTokens, heldTokens]).toEqual([70, 30]);
  await settle(lanes, customer, open, 5);
  expect(await used(customer)).toEqual([[75, 0]]);
});

test('a budget of users that is set later counts the tokens of each', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const of = (user: string, tokens: number) => reserveTokens(customer, tokens, { attribution: { user } });
  const [settled, open] = [of('alice', 90), of('bob', 7)];
  for (const reserve of [settled, open]) await lanes.reserve(reserve);
  await settle(lanes, customer, settled, 40);
  const { budgetId } = await set(customer, { dimension: 'user' });
  const { values } = await listBudgetValues(ledger.prisma, { accountId: customer.accountId, budgetId });
  expect(values).toEqual([
    { value: 'alice', spentTokens: 40, heldTokens: 0 },
    { value: 'bob', spentTokens: 0, heldTokens: 7 },
  ]);
});

test('after the clock was set back across its start, the window begins earlier and counts what is held', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const budget = await set(customer, {});
  const clock = { now: Date.parse(budget.windowStart ?? '') };
  const lanes = ledger.newLanes({ now: () => clock.now });
  await lanes.reserve(reserveTokens(customer, 30));
  clock.now -= 3_600_000;
  await lanes.reserve(reserveTokens(customer, 12));
  expect(await used(customer)).toEqual([[0, 42]]);
});

test('a threshold and a refusal tell the tokens', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId, keyId, projectId } = customer;
  const budget = await set(customer, { keyId, limitTokens: 100, thresholds: [50] });
  const lanes = ledger.newLanes();
  const reserve = reserveTokens(customer, 80);
  await lanes.reserve(reserve);
  await settle(lanes, customer, reserve, 60);
  await lanes.reserve(reserveTokens(customer, 41));
  const { rows } = await ledger.sql.query('SELECT kind, payload FROM billing.money_event WHERE account_id = $1 ORDER BY sequence', [
    accountId,
  ]);
  const { budgetId, windowStart, resetsAt } = budget;
  const payload = { budgetId, projectId, keyId, period: 'day', limitTokens: 100, spentTokens: 60, windowStart, resetsAt };
  expect(rows).toEqual([
    { kind: 'budget-threshold', payload: { ...payload, percent: 50 } },
    { kind: 'budget-exhausted', payload: { ...payload, requiredTokens: 41 } },
  ]);
  const { budgets } = await listBudgets(ledger.prisma, { accountId });
  expect(budgets[0]?.refusing).toEqual({ since: expect.any(String), requiredTokens: 41 });
});

test('another start day begins another window, counted anew; that of a budget of users does not change', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const reserve = reserveTokens(customer, 80);
  await lanes.reserve(reserve);
  await settle(lanes, customer, reserve, 60);
  const today = new Date().getUTCDay() || 7;
  const first = await set(customer, { period: 'week', startDay: today });
  const start = Date.parse(first.windowStart ?? '');
  expect(first).toMatchObject({ startDay: today, spentTokens: 60 });
  const moved = await set(customer, { period: 'week', startDay: (today % 7) + 1 });
  const earlier = new Date(start - 6 * 86_400_000).toISOString();
  expect(moved).toEqual({
    ...first,
    ...{ startDay: (today % 7) + 1, windowStart: earlier, resetsAt: new Date(start + 86_400_000).toISOString() },
  });
  expect(await set(customer, { period: 'week' })).toEqual(moved);
  await set(customer, { period: 'week', dimension: 'user', startDay: 2 });
  await expect(set(customer, { period: 'week', dimension: 'user', startDay: 3 })).rejects.toMatchObject({
    code: 'conflict',
    param: 'startDay',
  });
});

test('a change of the unit or the start day by hand needs an audit row', async () => {
  const customer = await ledger.customer();
  const { budgetId } = await set(customer, { period: 'month' });
  await expect(ledger.sql.query('UPDATE billing.budget SET start_day = 2 WHERE id = $1', [budgetId])).rejects.toMatchObject({
    constraint: 'budget_unit_is_audited',
  });
});
