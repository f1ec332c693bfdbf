import { randomUUID } from 'node:crypto';
import type { Budget, BudgetSetRequest } from '#contracts/billing/budgets.js';
import type { ReserveOutcome, ReserveRequest } from '#contracts/billing/holds.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, PRICE } from '../../test/ledger-fixture.js';
import { createProject } from '../accounts/projects.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { listBudgets, removeBudget, setBudget } from './budgets.js';

const ledger = await LedgerFixture.open({ guarded: true });
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const USD = 10n ** 12n;

type Level = 'account' | 'project' | 'key';
const LEVELS: Level[] = ['account', 'project', 'key'];

function of(customer: Customer, level: Level): Pick<BudgetSetRequest, 'accountId' | 'projectId' | 'keyId'> {
  const { accountId, projectId, keyId } = customer;
  return { accountId, ...(level !== 'account' && { projectId }), ...(level === 'key' && { keyId }) };
}

async function readBudget({ accountId }: Customer): Promise<Budget> {
  const { budgets } = await listBudgets(ledger.prisma, { accountId });
  return budgets[0] as Budget;
}

async function settle(lanes: HoldLanes, customer: Customer, holdId: string, cost: bigint) {
  const { accountId } = customer;
  return lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(Number(cost)) });
}

describe('a budget', () => {
  test('is set once for a target and period: a repeated request changes its limit, and each change is audited', async () => {
    const customer = await ledger.customer({ topup: 10n });
    const { accountId, projectId, keyId } = customer;
    const set = (limitPicoUsd: string) => setBudget(ledger.prisma, { accountId, keyId, period: 'day', limitPicoUsd });
    const created = await set('7');
    const budget = {
      ...{
        budgetId: created.budgetId,
        accountId,
        projectId,
        keyId,
        dimension: null,
        value: null,
        period: 'day',
        timeZone: 'UTC',
        startDay: 1,
        unit: 'usd',
        limitPicoUsd: '7',
      },
      ...{ spentPicoUsd: '0', heldPicoUsd: '0', thresholds: [50, 80, 100], createdAt: expect.any(String) },
      ...{ windowStart: expect.stringMatching(/T00:00:00\.000Z$/), resetsAt: expect.stringMatching(/T00:00:00\.000Z$/) },
    };
    expect(created).toEqual(budget);
    expect([await set('7'), await set('9')]).toEqual([budget, { ...budget, limitPicoUsd: '9' }]);
    expect(await listBudgets(ledger.prisma, { accountId })).toEqual({ budgets: [{ ...budget, limitPicoUsd: '9' }] });
    const other = await ledger.customer({ topup: 1n });
    await expect(removeBudget(ledger.prisma, { budgetId: created.budgetId, accountId: other.accountId })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await removeBudget(ledger.prisma, { budgetId: created.budgetId, accountId })).toEqual({ ...budget, limitPicoUsd: '9' });
    expect(await listBudgets(ledger.prisma, { accountId })).toEqual({ budgets: [] });
    await expect(listBudgets(ledger.prisma, { accountId, budgetId: created.budgetId })).rejects.toMatchObject({ code: 'not_found' });
    await expect(removeBudget(ledger.prisma, { budgetId: created.budgetId })).rejects.toMatchObject({ code: 'not_found' });
    const { rows } = await ledger.sql.query('SELECT action, before, after FROM billing.audit WHERE target = $1 ORDER BY id', [
      `budget/${created.budgetId}`,
    ]);
    const thresholds = [50, 80, 100];
    const settings = { budgetId: created.budgetId, accountId, projectId, keyId, period: 'day', timeZone: 'UTC', startDay: 1, thresholds };
    expect(rows).toEqual([
      { action: 'budget.create', before: null, after: { ...settings, limitPicoUsd: '7' } },
      {
        action: 'budget.update',
        before: { projectId, keyId, period: 'day', limitPicoUsd: '7' },
        after: { projectId, keyId, period: 'day', limitPicoUsd: '9' },
      },
      { action: 'budget.remove', before: { ...settings, limitPicoUsd: '9' }, after: null },
    ]);
  });

  test.each<[unit: string, limits: Pick<BudgetSetRequest, 'limitPicoUsd' | 'limitTokens'>, details: object]>([
    ['dollars', { limitPicoUsd: '7000000000000' }, { limitPicoUsd: '7000000000000' }],
    ['tokens', { limitTokens: 7 }, { limitTokens: '7' }],
  ])(
    'of %s is made once: to make it again is refused with the present limit, and changes nothing [money-create-budget]',
    async (_unit, limits, details) => {
      const { accountId, projectId } = await ledger.customer();
      for (const values of [{}, { dimension: 'user' }, { dimension: 'tag:team', value: 'search' }]) {
        const request = { accountId, projectId, period: 'month', ...values, ...limits } as const;
        const created = await setBudget(ledger.prisma, { ...request, createOnly: true });
        const larger = { limitPicoUsd: limits.limitPicoUsd && '9', limitTokens: limits.limitTokens && 9 };
        const again = await setBudget(ledger.prisma, { ...request, ...larger, timeZone: 'Asia/Tokyo', createOnly: true }).catch(
          (error) => error,
        );
        expect(again).toMatchObject({ code: 'conflict', param: 'period', details: { budgetId: created.budgetId, ...details } });
        expect(again.message).toMatch(/^There is such a budget already, with a limit of (\$7\.00|7 tokens)\. /);
        expect((await listBudgets(ledger.prisma, { accountId, budgetId: created.budgetId })).budgets).toEqual([created]);
      }
    },
  );

  test('is made by one of several who make it at once [money-create-budget]', async () => {
    const { accountId } = await ledger.customer();
    const make = (limit: number) => setBudget(ledger.prisma, { accountId, period: 'day', limitPicoUsd: `${limit}`, createOnly: true });
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(make));
    const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect([made.length, outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []))]).toEqual([
      1,
      ['conflict', 'conflict', 'conflict'],
    ]);
    expect((await listBudgets(ledger.prisma, { accountId })).budgets).toEqual(made);
  });

  test('is of a project or key of the account, in a time zone that exists, with one limit and a start day of its period', async () => {
    const [customer, other] = [await ledger.customer(), await ledger.customer()];
    const { accountId } = customer;
    const set = (request: Partial<BudgetSetRequest>) =>
      setBudget(ledger.prisma, { accountId, period: 'day', limitPicoUsd: '1', ...request }).catch((error) => [error.code, error.param]);
    expect([
      await set({ accountId: randomUUID() }),
      await set({ projectId: other.projectId }),
      await set({ keyId: other.keyId }),
      await set({ projectId: other.projectId, keyId: customer.keyId }),
      await set({ timeZone: 'Europe/Nowhere' }),
      await set({ limitTokens: 1 }),
      await set({ limitPicoUsd: undefined }),
      await set({ period: 'week', startDay: 8 }),
      await set({ startDay: 2 }),
    ]).toEqual([
      ['not_found', 'accountId'],
      ['not_found', 'projectId'],
      ['not_found', 'keyId'],
      ['not_found', 'keyId'],
      ['invalid_request', 'timeZone'],
      ['invalid_request', 'limitPicoUsd'],
      ['invalid_request', 'limitPicoUsd'],
      ['invalid_request', 'startDay'],
      ['invalid_request', 'startDay'],
    ]);
  });

  test.each(LEVELS)('of %s that is set later counts what was spent and what is held', async (level) => {
    const customer = await ledger.customer({ topup: 1_000n });
    const lanes = ledger.newLanes();
    const [settled, open] = [makeReserve(customer, 100n), makeReserve(customer, 30n)];
    for (const reserve of [settled, open]) await lanes.reserve(reserve);
    await settle(lanes, customer, settled.holdId, 70n);
    const project = await createProject(
      ledger.prisma,
      { accountId: customer.accountId, name: 'other' },
      { requestsPerMinute: 9, concurrency: 9 },
    );
    const elsewhere = await setBudget(ledger.prisma, {
      ...of(customer, 'account'),
      projectId: project.projectId,
      period: 'day',
      limitPicoUsd: '9',
    });
    const counted = await Promise.all(
      (['day', 'total'] as const).map((period) => setBudget(ledger.prisma, { ...of(customer, level), period, limitPicoUsd: '150' })),
    );
    expect([elsewhere, ...counted].map(({ spentPicoUsd, heldPicoUsd }) => [spentPicoUsd, heldPicoUsd])).toEqual([
      ['0', '0'],
      ['70', '30'],
      ['70', '30'],
    ]);
    expect(await lanes.reserve(makeReserve(customer, 51n))).toMatchObject({ status: 'refused', budget: { leftPicoUsd: '50' } });
    await settle(lanes, customer, open.holdId, 1n);
    expect(await lanes.reserve(makeReserve(customer, 79n))).toMatchObject({ status: 'held' });
  });

  test('that is set while requests run is exact', async () => {
    const customer = await ledger.customer({ topup: 100_000n });
    const lanes = ledger.newLanes({ batchMax: 3 });
    const requests = Array.from({ length: 60 }, async (_, count) => {
      const reserve = makeReserve(customer, 100n);
      await lanes.reserve(reserve);
      await settle(lanes, customer, reserve.holdId, BigInt(count));
    });
    const budgets = [...LEVELS].map((level) =>
      setBudget(ledger.prisma, { ...of(customer, level), period: 'day', limitPicoUsd: '1000000' }),
    );
    await Promise.all([...requests, ...budgets]);
    const { budgets: after } = await listBudgets(ledger.prisma, { accountId: customer.accountId });
    expect(after.map(({ spentPicoUsd, heldPicoUsd }) => [spentPicoUsd, heldPicoUsd])).toEqual([
      ['1770', '0'],
      ['1770', '0'],
      ['1770', '0'],
    ]);
  });

  test('says that it refuses, since when and what was needed, for as long as it would refuse that again', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const lanes = ledger.newLanes();
    const set = (limitPicoUsd: string) => setBudget(ledger.prisma, { ...of(customer, 'project'), period: 'day', limitPicoUsd });
    await set('100');
    const running = makeReserve(customer, 30n);
    await lanes.reserve(running);
    expect((await readBudget(customer)).refusing).toBeUndefined();
    // Refused only because of what is held: the budget covers it later.
    await lanes.reserve(makeReserve(customer, 80n));
    expect((await readBudget(customer)).refusing).toBeUndefined();
    await settle(lanes, customer, running.holdId, 30n);
    await lanes.reserve(makeReserve(customer, 71n));
    const refusing = { since: expect.stringMatching(/^\d{4}-.*Z$/), requiredPicoUsd: '71' };
    expect((await readBudget(customer)).refusing).toEqual(refusing);
    await set('101');
    expect((await readBudget(customer)).refusing).toBeUndefined();
    await set('100');
    await ledger.sql.query("UPDATE billing.money_event SET created_at = created_at - interval '25 hours' WHERE account_id = $1", [
      customer.accountId,
    ]);
    expect((await readBudget(customer)).refusing).toBeUndefined();
  });

  test('in another time zone has another window, counted anew', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const lanes = ledger.newLanes();
    const reserve = makeReserve(customer, 100n);
    await lanes.reserve(reserve);
    await settle(lanes, customer, reserve.holdId, 70n);
    const set = (timeZone?: string) => setBudget(ledger.prisma, { ...of(customer, 'key'), period: 'month', limitPicoUsd: '100', timeZone });
    const first = await set();
    const moved = await set('Asia/Kathmandu');
    expect(moved).toEqual({
      ...first,
      timeZone: 'Asia/Kathmandu',
      windowStart: expect.stringMatching(/T18:15:00\.000Z$/),
      resetsAt: expect.stringMatching(/T18:15:00\.000Z$/),
    });
    expect([moved.spentPicoUsd, await set()]).toEqual(['70', moved]);
  });
});

describe.each(LEVELS)('500 requests at once on a budget of $1 of one %s, over two replicas', (level) => {
  test('never exceed it, and the last that fits is admitted [limit-budget]', async () => {
    const customer = await ledger.customer({ topup: 100n * USD });
    await setBudget(ledger.prisma, { ...of(customer, level), period: 'day', limitPicoUsd: String(USD) });
    const replicas = [ledger.newLanes({ batchMax: 7 }), ledger.newLanes()] as const;
    const smallest = 5_000_000_007n;
    const costs = await Promise.all(
      Array.from({ length: 500 }, async (_, count) => {
        const lanes = replicas[count % 2] as HoldLanes;
        // Up to a cent; a third costs all that it holds.
        const amount = smallest + BigInt(count) * 9_999_983n;
        const cost = count % 3 === 0 ? amount : amount / 3n;
        const reserve = makeLargeReserve(customer, amount);
        if ((await lanes.reserve(reserve)).status !== 'held') return 0n;
        await settleLarge(lanes, customer, reserve.holdId, cost);
        return cost;
      }),
    );
    let spent = costs.reduce((sum, cost) => sum + cost);
    expect(spent).toBeLessThanOrEqual(USD);
    expect(costs).toContain(0n);
    // Nothing else runs: requests are admitted as long as they fit.
    let outcome: ReserveOutcome;
    for (;;) {
      const reserve = makeLargeReserve(customer, smallest);
      outcome = await replicas[0].reserve(reserve);
      if (outcome.status !== 'held') break;
      await settleLarge(replicas[0], customer, reserve.holdId, smallest);
      spent += smallest;
    }
    const { budgetId, limitPicoUsd, resetsAt } = await readBudget(customer);
    const { projectId = null, keyId = null } = of(customer, level);
    expect(USD - spent).toBeLessThan(smallest);
    expect(outcome).toEqual({
      status: 'refused',
      holdId: expect.any(String),
      code: 'insufficient_balance',
      requiredPicoUsd: String(smallest),
      availablePicoUsd: String(100n * USD - spent),
      budget: {
        ...{ budgetId, projectId, keyId, period: 'day', limitPicoUsd, spentPicoUsd: String(spent), heldPicoUsd: '0' },
        ...{ leftPicoUsd: String(USD - spent), resetsAt },
      },
    });
    // Another key is refused only by a budget of the account or the project.
    const other = { ...customer, keyId: await addKey(customer) };
    expect(await replicas[0].reserve(makeReserve(other, smallest))).toMatchObject({ status: level === 'key' ? 'held' : 'refused' });
  });
});

async function addKey({ projectId }: Customer): Promise<string> {
  const keyId = randomUUID();
  await ledger.sql.query(
    `WITH added AS (INSERT INTO billing.api_key (id, project_id, digest, last_four) VALUES ($1, $2, sha256($3), 'abcd') RETURNING id)
     SELECT billing.record_audit('{"actor": "test"}', 'test.add', NULL, 'key/' || id, NULL, NULL, NULL) FROM added`,
    [keyId, projectId, Buffer.from(keyId)],
  );
  return keyId;
}

const OUTPUT_PRICE = 1_000_000n;

function makeLargeReserve(customer: Customer, amount: bigint): ReserveRequest {
  return { ...makeReserve(customer, amount), price: { ...PRICE, outputPicoUsd: String(OUTPUT_PRICE) } };
}

/** Settles a hold of `makeLargeReserve`. */
async function settleLarge(lanes: HoldLanes, customer: Customer, holdId: string, cost: bigint): Promise<void> {
  const usage = makeUsage(Number(cost % OUTPUT_PRICE), Number(cost / OUTPUT_PRICE));
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage });
}

describe('at the reset', () => {
  /** Returns lanes whose clock the test sets, from a second before the reset on. */
  async function beforeReset(customer: Customer, limitPicoUsd: string) {
    const budget = await setBudget(ledger.prisma, { ...of(customer, 'key'), period: 'day', limitPicoUsd });
    const clock = { now: Date.parse(budget.resetsAt ?? '') - 1_000 };
    return { clock, lanes: ledger.newLanes({ now: () => clock.now }), reset: clock.now + 1_000 };
  }

  test('a clock that is set back begins the window earlier, and no hold is counted twice or lost', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { clock, lanes, reset } = await beforeReset(customer, '100');
    const [first, second, third] = [30n, 20n, 40n].map((amount) => makeReserve(customer, amount)) as [
      ReserveRequest,
      ReserveRequest,
      ReserveRequest,
    ];
    await lanes.reserve(first);
    clock.now = reset;
    await lanes.reserve(second);
    clock.now = reset - 2_000;
    await lanes.reserve(third);
    expect(await readBudget(customer)).toMatchObject({ heldPicoUsd: '90', resetsAt: new Date(reset + 86_400_000).toISOString() });
    expect(await lanes.reserve(makeReserve(customer, 11n))).toMatchObject({ status: 'refused', budget: { leftPicoUsd: '10' } });
    for (const { holdId } of [first, second, third]) await settle(lanes, customer, holdId, 5n);
    expect(await readBudget(customer)).toMatchObject({ spentPicoUsd: '15', heldPicoUsd: '0' });
  });
});
