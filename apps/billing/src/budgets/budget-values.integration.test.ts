import type { BudgetSetRequest } from '#contracts/billing/budgets.js';
import type { ReserveRequest } from '#contracts/billing/holds.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { listBudgets, removeBudget, setBudget } from './budgets.js';
import { listBudgetValues } from './list-values.js';
import { sweepBudgetValues } from './sweep-budget-values.js';

const ledger = await LedgerFixture.open({ guarded: true });
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

function set({ accountId }: Customer, request: Partial<BudgetSetRequest>) {
  return setBudget(ledger.prisma, { accountId, dimension: 'user', period: 'day', limitPicoUsd: '100', ...request });
}

function reserveFor(customer: Customer, user: string | undefined, amount: bigint, team = 'search'): ReserveRequest {
  return { ...makeReserve(customer, amount), attribution: { ...(user !== undefined && { user }), 'tag:team': team } };
}

async function settle(lanes: HoldLanes, { accountId }: Customer, { holdId }: ReserveRequest, cost: number) {
  return lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(cost) });
}

async function used({ accountId }: Customer, budgetId: string): Promise<string[]> {
  const { values } = await listBudgetValues(ledger.prisma, { accountId, budgetId });
  return values.map(({ value, spentPicoUsd, heldPicoUsd }) => `${value}: ${spentPicoUsd} spent, ${heldPicoUsd} held`);
}

test('each user has the limit for itself, and a refusal names the user', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const { projectId } = customer;
  const { budgetId, resetsAt } = await set(customer, { projectId });
  const lanes = ledger.newLanes();
  const first = reserveFor(customer, 'alice', 70n);
  expect(await lanes.reserve(first)).toMatchObject({ status: 'held' });
  expect(await lanes.reserve(reserveFor(customer, 'alice', 31n))).toEqual({
    ...{ status: 'refused', holdId: expect.any(String), code: 'insufficient_balance', requiredPicoUsd: '31', availablePicoUsd: '930' },
    budget: {
      ...{ budgetId, projectId, keyId: null, dimension: 'user', value: 'alice', period: 'day', limitPicoUsd: '100' },
      ...{ spentPicoUsd: '0', heldPicoUsd: '70', leftPicoUsd: '30', resetsAt },
    },
  });
  expect(await lanes.reserve(reserveFor(customer, 'bob', 100n))).toMatchObject({ status: 'held' });
  expect(await lanes.reserve(reserveFor(customer, undefined, 500n))).toMatchObject({ status: 'held' });
  expect(await settle(lanes, customer, first, 20)).toMatchObject({ costPicoUsd: '20' });
  expect(await lanes.reserve(reserveFor(customer, 'alice', 80n))).toMatchObject({ status: 'held' });
  expect(await lanes.reserve(reserveFor(customer, 'alice', 0n))).toMatchObject({ status: 'held' });
  expect(await used(customer, budgetId)).toEqual(['alice: 20 spent, 80 held', 'bob: 0 spent, 100 held']);
});

test('the first request of a user above the limit is refused from memory too', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  await set(customer, {});
  const lanes = ledger.newLanes();
  for (let count = 0; count < 3; count++) await lanes.reserve(reserveFor(customer, 'bob', 1n));
  expect(await lanes.reserve(reserveFor(customer, 'alice', 101n))).toMatchObject({ budget: { value: 'alice', leftPicoUsd: '100' } });
});

describe('the limit that a request gives its session', () => {
  const reserveIn = (customer: Customer, session: string, amount: bigint, limit?: number): ReserveRequest => ({
    ...makeReserve(customer, amount),
    attribution: { session },
    ...(limit !== undefined && { sessionLimitPicoUsd: String(limit) }),
  });

  test('lowers the budget of each session for that session, and stays for requests that name none or a higher one', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { budgetId } = await set(customer, { dimension: 'session', period: 'total' });
    const lanes = ledger.newLanes();
    // The first batches take the lock, those after them come from memory.
    for (let count = 0; count < 3; count++) await lanes.reserve(reserveIn(customer, 'run 2', 1n));
    const answers: unknown[] = [];
    for (const [amount, limit] of [[20n, 50], [31n], [31n, 90], [30n, 60], [1n, 200]] as const) {
      const answer = await lanes.reserve(reserveIn(customer, 'run 1', amount, limit));
      answers.push('budget' in answer ? [answer.budget?.limitPicoUsd, answer.budget?.leftPicoUsd] : answer.status);
    }
    expect(answers).toEqual(['held', ['50', '30'], ['50', '30'], 'held', ['50', '0']]);
    const { values } = await listBudgetValues(ledger.prisma, { accountId: customer.accountId, budgetId });
    expect(values).toEqual([
      { value: 'run 1', limitPicoUsd: '50', spentPicoUsd: '0', heldPicoUsd: '50' },
      { value: 'run 2', spentPicoUsd: '0', heldPicoUsd: '3' },
    ]);
  });

  test('never raises the budget', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    await set(customer, { dimension: 'session', period: 'total' });
    const refused = await ledger.newLanes().reserve(reserveIn(customer, 'run 1', 101n, 500));
    expect(refused).toMatchObject({ budget: { limitPicoUsd: '100', leftPicoUsd: '100' } });
  });

  test.each([
    ['a budget of all requests', {}],
    ['a budget of tokens of each session', { dimension: 'session', limitPicoUsd: undefined, limitTokens: 9 }],
    ['the budget of another session', { dimension: 'session', value: 'run 2' }],
  ])('is refused where there is only %s', async (_, budget) => {
    const customer = await ledger.customer({ topup: 1_000n });
    await set(customer, { dimension: undefined, ...budget });
    const reserve = reserveIn(customer, 'run 1', 1n, 50);
    expect(await ledger.newLanes().reserve(reserve)).toEqual({ status: 'refused', holdId: reserve.holdId, code: 'no_session_budget' });
  });

  test('bounds what parallel requests of many replicas spend', async () => {
    const customer = await ledger.customer({ topup: 100_000n });
    const { budgetId } = await set(customer, { dimension: 'session', period: 'total', limitPicoUsd: '1000' });
    const [one, other] = [ledger.newLanes(), ledger.newLanes()];
    const limits = [200, 300, undefined];
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, at) =>
        (at % 2 ? one : other).reserve(reserveIn(customer, 'run 1', 9n, at === 0 ? 200 : limits[at % 3])),
      ),
    );
    const held = BigInt(answers.filter((answer) => answer.status === 'held').length) * 9n;
    const { values } = await listBudgetValues(ledger.prisma, { accountId: customer.accountId, budgetId });
    expect(values).toEqual([{ value: 'run 1', limitPicoUsd: '200', spentPicoUsd: '0', heldPicoUsd: String(held) }]);
  });
});

/** Returns the events of an account, in their order: kind, threshold, value of the budget, and what it has spent. */
async function events({ accountId }: Customer): Promise<string[]> {
  const sql = 'SELECT kind, payload FROM billing.money_event WHERE account_id = $1 ORDER BY sequence';
  const { rows } = await ledger.sql.query<{ kind: string; payload: Record<string, unknown> }>(sql, [accountId]);
  return rows.map(({ kind, payload }) => [kind, payload.percent, payload.value, payload.spentPicoUsd].filter(Boolean).join(' '));
}

test('a budget of each user has no thresholds, and what it spends and refuses is no event', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  await expect(set(customer, { thresholds: [80] })).rejects.toMatchObject({ code: 'invalid_request', param: 'thresholds' });
  expect(await set(customer, { thresholds: [] })).toMatchObject({ thresholds: [] });
  const lanes = ledger.newLanes();
  const reserve = reserveFor(customer, 'alice', 100n);
  await lanes.reserve(reserve);
  await settle(lanes, customer, reserve, 100);
  expect(await lanes.reserve(reserveFor(customer, 'alice', 101n))).toMatchObject({ budget: { value: 'alice', leftPicoUsd: '0' } });
  expect(await set(customer, { limitPicoUsd: '50' })).toMatchObject({ thresholds: [] });
  expect(await events(customer)).toEqual([]);
});

describe('a budget of one user', () => {
  test('tells each threshold once, over two replicas that decide from memory', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    await set(customer, {});
    expect(await set(customer, { value: 'alice' })).toMatchObject({ thresholds: [50, 80, 100] });
    const replicas = [ledger.newLanes(), ledger.newLanes()] as const;
    for (let count = 0; count < 20; count++) {
      const lanes = replicas[Math.floor(count / 5) % 2] as HoldLanes;
      for (const user of ['alice', 'bob']) {
        const reserve = reserveFor(customer, user, 5n);
        expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
        await settle(lanes, customer, reserve, 5);
      }
    }
    const expected = ['budget-threshold 50 alice 50', 'budget-threshold 80 alice 80', 'budget-threshold 100 alice 100'];
    expect(await events(customer)).toEqual(expected);
  });

  test('tells several thresholds that one settlement passes, and a request that it could never cover', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    await set(customer, { value: 'alice', thresholds: [90, 10, 20] });
    const lanes = ledger.newLanes();
    const reserve = reserveFor(customer, 'alice', 100n);
    await lanes.reserve(reserve);
    await settle(lanes, customer, reserve, 30);
    expect(await lanes.reserve(reserveFor(customer, 'alice', 71n))).toMatchObject({ budget: { value: 'alice', leftPicoUsd: '70' } });
    const expected = ['budget-threshold 10 alice 30', 'budget-threshold 20 alice 30', 'budget-exhausted alice 30'];
    expect(await events(customer)).toEqual(expected);
  });

  test('tells the thresholds that another limit passes, and again those that a higher one takes back', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const lanes = ledger.newLanes();
    const spend = async (cost: number): Promise<void> => {
      const reserve = reserveFor(customer, 'alice', 60n);
      await lanes.reserve(reserve);
      await settle(lanes, customer, reserve, cost);
    };
    await spend(60);
    await set(customer, { value: 'alice' });
    await set(customer, { value: 'alice', limitPicoUsd: '60' });
    await set(customer, { value: 'alice', limitPicoUsd: '200' });
    await spend(39);
    await spend(1);
    const set100 = ['budget-threshold 50 alice 60'];
    const set60 = ['budget-threshold 80 alice 60', 'budget-threshold 100 alice 60'];
    expect(await events(customer)).toEqual([...set100, ...set60, 'budget-threshold 50 alice 100']);
  });
});

test('several budgets of a target and period differ in dimension or value', async () => {
  const customer = await ledger.customer();
  const { accountId } = customer;
  const requests = [{ dimension: undefined }, {}, { value: 'alice' }, { dimension: 'tag:team' }];
  const created = await Promise.all(requests.map((request) => set(customer, request)));
  const again = await Promise.all(requests.map((request) => set(customer, { ...request, limitPicoUsd: '7' })));
  expect(again).toEqual(created.map((budget) => ({ ...budget, limitPicoUsd: '7' })));
  expect((await listBudgets(ledger.prisma, { accountId })).budgets).toHaveLength(4);
});

test.each([
  ['a value without its dimension', { dimension: undefined, value: 'alice' }, 'invalid_request', 'dimension'],
  ['another time zone', { timeZone: 'Asia/Tokyo' }, 'conflict', 'timeZone'],
])('%s is refused', async (_, change, code, param) => {
  const customer = await ledger.customer();
  await set(customer, {});
  await expect(set(customer, change)).rejects.toMatchObject({ code, param });
});

test('500 requests of five users at once, over two replicas, never exceed the budget of any', async () => {
  const customer = await ledger.customer({ topup: 1_000_000n });
  const { budgetId } = await set(customer, { limitPicoUsd: '10000' });
  const replicas = [ledger.newLanes({ batchMax: 7 }), ledger.newLanes()] as const;
  const costs = new Map<string, bigint>();
  await Promise.all(
    Array.from({ length: 500 }, async (_, count) => {
      const user = `user-${count % 5}`;
      const lanes = replicas[count % 2] as HoldLanes;
      const amount = 50 + count;
      const reserve = reserveFor(customer, user, BigInt(amount));
      if ((await lanes.reserve(reserve)).status !== 'held') return;
      await settle(lanes, customer, reserve, count % 3 === 0 ? amount : 40);
      costs.set(user, (costs.get(user) ?? 0n) + BigInt(count % 3 === 0 ? amount : 40));
    }),
  );
  expect([...costs.values()].every((cost) => cost <= 10_000n)).toBe(true);
  // Nothing else runs: each user is admitted up to its limit.
  for (const [user, cost] of costs) {
    expect(await replicas[0].reserve(reserveFor(customer, user, 10_001n - cost))).toMatchObject({ status: 'refused' });
    expect(await replicas[1].reserve(reserveFor(customer, user, 10_000n - cost))).toMatchObject({ status: 'held' });
  }
  expect(await used(customer, budgetId)).toEqual([...costs].sort().map(([user, cost]) => `${user}: ${cost} spent, ${10_000n - cost} held`));
});

describe('a budget that is set later', () => {
  test('counts what each user has spent and holds in the window', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const lanes = ledger.newLanes();
    const [settled, open] = [reserveFor(customer, 'alice', 100n), reserveFor(customer, 'bob', 30n)];
    for (const reserve of [settled, open]) await lanes.reserve(reserve);
    await settle(lanes, customer, settled, 70);
    const { budgetId } = await set(customer, {});
    expect(await used(customer, budgetId)).toEqual(['alice: 70 spent, 0 held', 'bob: 0 spent, 30 held']);
    expect(await lanes.reserve(reserveFor(customer, 'alice', 31n))).toMatchObject({ budget: { leftPicoUsd: '30' } });
    await settle(lanes, customer, open, 20);
    expect(await used(customer, budgetId)).toEqual(['alice: 70 spent, 0 held', 'bob: 20 spent, 0 held']);
  });

  test('while requests run is exact', async () => {
    const customer = await ledger.customer({ topup: 100_000n });
    const lanes = ledger.newLanes({ batchMax: 3 });
    const requests = Array.from({ length: 60 }, async (_, count) => {
      const reserve = reserveFor(customer, `user-${count % 2}`, 100n);
      await lanes.reserve(reserve);
      await settle(lanes, customer, reserve, count);
    });
    const [budget] = await Promise.all([set(customer, { limitPicoUsd: '1000000' }), ...requests]);
    expect(await used(customer, budget.budgetId)).toEqual(['user-0: 870 spent, 0 held', 'user-1: 900 spent, 0 held']);
  });
});

describe('at the reset', () => {
  async function beforeReset(customer: Customer) {
    const budget = await set(customer, {});
    const clock = { now: Date.parse(budget.resetsAt ?? '') - 1_000 };
    return { budget, clock, lanes: ledger.newLanes({ now: () => clock.now }), reset: clock.now + 1_000 };
  }

  test('a clock that is set back begins the window earlier, and no hold is counted twice or lost', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { clock, lanes, reset } = await beforeReset(customer);
    const [first, second, third] = ([30n, 20n, 40n] as const).map((amount) => reserveFor(customer, 'alice', amount)) as [
      ReserveRequest,
      ReserveRequest,
      ReserveRequest,
    ];
    await lanes.reserve(first);
    clock.now = reset;
    await lanes.reserve(second);
    clock.now = reset - 2_000;
    await lanes.reserve(third);
    expect(await lanes.reserve(reserveFor(customer, 'alice', 11n))).toMatchObject({ status: 'refused', budget: { leftPicoUsd: '10' } });
    for (const reserve of [first, second, third]) await settle(lanes, customer, reserve, 5);
    expect(await lanes.reserve(reserveFor(customer, 'alice', 86n))).toMatchObject({ status: 'refused', budget: { leftPicoUsd: '85' } });
  });
});

test('users are listed page by page, or one alone', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId } = customer;
  const budget = await set(customer, {});
  const lanes = ledger.newLanes();
  for (const user of ['bob', 'alice', 'Zoe']) await lanes.reserve(reserveFor(customer, user, 5n));
  const list = (more: object) => listBudgetValues(ledger.prisma, { accountId, budgetId: budget.budgetId, ...more });
  const row = (value: string) => ({ value, spentPicoUsd: '0', heldPicoUsd: '5' });
  const first = await list({ limit: 2 });
  expect(first).toEqual({ budget, values: [row('Zoe'), row('alice')], nextCursor: expect.any(String) });
  expect(await list({ limit: 2, cursor: first.nextCursor })).toEqual({ budget, values: [row('bob')], nextCursor: null });
  expect(await list({ value: 'alice' })).toEqual({ budget, values: [row('alice')], nextCursor: null });
  const plain = await set(customer, { dimension: undefined });
  await expect(list({ budgetId: plain.budgetId })).rejects.toMatchObject({ code: 'not_found', param: 'budgetId' });
});

test('rows of windows that are over and of removed budgets are deleted, no others', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const [daily, removed] = [await set(customer, {}), await set(customer, { period: 'total' })];
  await lanes.reserve(reserveFor(customer, 'alice', 5n));
  await ledger.sql.query(
    `INSERT INTO billing.budget_value SELECT budget_id, account_id, now() - hours * interval '1 hour', value, 1, 0
     FROM billing.budget_value, (VALUES (0.9), (1.1), (30)) AS ago (hours) WHERE budget_id = $1`,
    [daily.budgetId],
  );
  await removeBudget(ledger.prisma, { budgetId: removed.budgetId });
  const connection = await ledger.connect();
  expect(await sweepBudgetValues(connection)).toBe(3);
  const { rows } = await ledger.sql.query('SELECT spent, held FROM billing.budget_value WHERE account_id = $1 ORDER BY window_end', [
    customer.accountId,
  ]);
  expect(rows).toEqual([
    { spent: '1', held: '0' },
    { spent: '0', held: '5' },
  ]);
});
