import { randomUUID } from 'node:crypto';
import type { ReserveOutcome } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, TIMES } from '../../test/ledger-fixture.js';
import { ShiftedClock } from '../../test/shifted-clock.js';
import { updateAccount } from '../accounts/accounts.js';
import { updateProject } from '../accounts/projects.js';
import { setBudget } from '../budgets/budgets.js';
import { renewHolds } from '../holds/renew.js';
import { revokeKey, updateKey } from '../keys/keys.js';
import { adjust } from '../ledger/adjust.js';
import { freezeAccounts } from '../ledger/freeze-accounts.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { refund } from '../ledger/refund.js';
import { topUp } from '../ledger/top-up.js';
import { applyBatch } from './apply-batch.js';
import type { Batch, Settle } from './batch.js';

/** Batches that are decided from memory, and changes that make them take the lock. */
const ledger = await LedgerFixture.open();
const clock = await ShiftedClock.of(ledger);
beforeEach(() => clock.set(0));
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const FROM_MEMORY = ['write_cached_batch_reserves'];
const SETTLED_FROM_MEMORY = ['write_cached_batch_settles'];
const BOTH_FROM_MEMORY = ['write_cached_batch_settles_reserves'];
const LOCKED = ['lock_accounts', 'read_batch', 'write_batch'];
const LOCKED_REFUSAL = ['lock_accounts', 'read_batch'];
/** Time of every batch, so that only the tests of the clock depend on the speed of the machine. */
const NOW = Date.now();

/** Connection of a lane that records the statements of each batch. */
class Replica {
  private readonly sent: string[] = [];

  private constructor(private readonly connection: PgConnection) {
    const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
    connection.query = ((statement: string | { name: string }, ...rest: unknown[]) => {
      if (typeof statement !== 'string') this.sent.push(statement.name);
      return query(statement, ...rest);
    }) as typeof connection.query;
  }

  static async open(connect = ledger.connect): Promise<Replica> {
    return new Replica(await connect());
  }

  /** Returns a replica whose memory of the account is current. */
  static async knowing(customer: Customer): Promise<Replica> {
    const replica = await Replica.open();
    await replica.learn(customer);
    return replica;
  }

  async learn(customer: Customer, now: number | 'clock' = NOW): Promise<void> {
    await this.reserve(customer, 0n, randomUUID(), now);
  }

  async apply({ settles = [], reserves = [] }: Partial<Batch>, now: number | 'clock' = NOW) {
    this.sent.length = 0;
    const { outcomes } = await applyBatch(this.connection, { settles, reserves }, TIMES, now === 'clock' ? undefined : now);
    return { ...outcomes, sent: [...this.sent] };
  }

  async reserve(customer: Customer, amount: bigint, holdId: string = randomUUID(), now: number | 'clock' = NOW) {
    const { reserves, sent } = await this.apply({ reserves: [makeReserve(customer, amount, holdId)] }, now);
    return { outcome: reserves[0] as ReserveOutcome, sent };
  }

  async settle({ accountId }: Customer, holdId: string, promptTokens: number, settle: Partial<Settle> = {}) {
    const { settles, sent } = await this.apply({
      settles: [{ holdId, accountId, reason: 'completed', usage: makeUsage(promptTokens), ...settle }],
    });
    return { outcome: settles[0], sent };
  }
}

const held = (holdId: string): unknown => expect.objectContaining({ status: 'held', holdId, leaseMs: TIMES.leaseMs });

test('the second batch of an account is one statement, and its rows are those of a locked batch', async () => {
  const rows: unknown[] = [];
  const sent: unknown[] = [];
  for (const known of [false, true]) {
    const customer = await ledger.customer({ topup: 1_000n });
    const replica = await Replica.open();
    const holdId = randomUUID();
    await replica.reserve(customer, 300n, holdId);
    const settle = { holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(40, 5, 10) } as const;
    const reserve = makeReserve(customer, 100n);
    const { settles, reserves, ...rest } = await (known ? replica : await Replica.open()).apply({ settles: [settle], reserves: [reserve] });
    expect({ settles, reserves }).toEqual({
      settles: [{ status: 'settled', holdId, costPicoUsd: '40' }],
      reserves: [held(reserve.holdId)],
    });
    sent.push(rest.sent);
    rows.push(await readRows(customer, holdId, reserve.holdId));
  }
  expect(sent).toEqual([LOCKED, BOTH_FROM_MEMORY]);
  expect(rows[1]).toEqual(rows[0]);
});

/** Returns the rows without their random ids and the id of their transaction. */
async function readRows({ accountId, projectId }: Customer, settled: string, opened: string): Promise<unknown> {
  const all = async (sql: string, id: string) => (await ledger.sql.query(sql, [id])).rows;
  const settlement = await all('SELECT * FROM billing.settlement WHERE hold_id = $1', settled);
  const hold = await all('SELECT * FROM billing.hold WHERE id = $1', opened);
  const account = await all('SELECT * FROM billing.account WHERE id = $1', accountId);
  const project = await all('SELECT * FROM billing.project WHERE id = $1', projectId);
  const ids = ['id', 'hold_id', 'account_id', 'project_id', 'key_id', 'request_id', 'transaction_id'];
  const own = (rows: Record<string, unknown>[]) =>
    rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !ids.includes(name))));
  return [
    own(settlement),
    own(hold),
    account.map(({ id, created_at, ...rest }) => rest),
    project.map(({ id, account_id, created_at, ...rest }) => rest),
  ];
}

describe('the next batch sees', () => {
  const reserve = async (replica: Replica, customer: Customer, amount = 100n) => replica.reserve(customer, amount);
  /** The whole balance does not cover the request. */
  const REFUSAL_EVENT = ['write_events', 'write_batch'];
  const cases: Record<string, { change: (customer: Customer) => Promise<unknown>; outcome: object; also?: string[] }> = {
    'a revoked key': {
      change: ({ keyId }) => revokeKey(ledger.prisma, keyId),
      outcome: { status: 'refused', code: 'invalid_api_key' },
    },
    'a disabled key': {
      change: ({ keyId }) => updateKey(ledger.prisma, { keyId, disabled: true }),
      outcome: { status: 'refused', code: 'invalid_api_key' },
    },
    'a key that has got an end': {
      change: ({ keyId }) => ledger.sql.query('UPDATE billing.api_key SET expires_at = $2 WHERE id = $1', [keyId, new Date(NOW)]),
      outcome: { status: 'refused', code: 'invalid_api_key' },
    },
    'a disabled project': {
      change: ({ projectId }) => updateProject(ledger.prisma, { projectId, enabled: false }),
      outcome: { status: 'refused', code: 'invalid_api_key' },
    },
    'a lower limit of requests per minute': {
      change: ({ projectId }) => updateProject(ledger.prisma, { projectId, requestsPerMinuteMax: 1 }),
      outcome: { status: 'refused', code: 'rate_limit_exceeded', limit: 1 },
    },
    'a lower limit of concurrency': {
      change: ({ projectId }) => updateProject(ledger.prisma, { projectId, concurrencyMax: 1 }),
      outcome: { status: 'refused', code: 'concurrency_limit', limit: 1 },
    },
    'a new limit of the key': {
      change: ({ keyId }) => updateKey(ledger.prisma, { keyId, concurrencyMax: 1 }),
      outcome: { status: 'refused', code: 'concurrency_limit', limit: 1 },
      also: ['read_limits', 'read_tokens'],
    },
    'a new limit of the account': {
      change: ({ accountId }) => updateAccount(ledger.prisma, { accountId, concurrencyMax: 1 }),
      outcome: { status: 'refused', code: 'concurrency_limit', limit: 1 },
      also: ['read_limits', 'read_tokens'],
    },
    'an account that an operator has stopped': {
      change: ({ accountId }) => updateAccount(ledger.prisma, { accountId, status: 'frozen' }),
      outcome: { status: 'refused', code: 'account_frozen' },
    },
    'an account that the audit has frozen': {
      change: ({ accountId }) => freezeAccounts(ledger.sql, new Map([[accountId, 'test']])),
      outcome: { status: 'refused', code: 'account_frozen' },
    },
    'a debit': {
      change: ({ accountId }) =>
        adjust(ledger.sql, { accountId, adjustmentId: randomUUID(), kind: 'debit', amount: picoUsd(950n), reason: 'test' }),
      outcome: { status: 'refused', code: 'insufficient_balance', availablePicoUsd: '50' },
      also: REFUSAL_EVENT,
    },
    'a refund': {
      change: ({ accountId }) => refund(ledger.sql, { accountId, refundId: randomUUID(), amount: picoUsd(901n) }),
      outcome: { status: 'refused', code: 'insufficient_balance', availablePicoUsd: '99' },
      also: REFUSAL_EVENT,
    },
  };

  test.each(Object.entries(cases))('%s, and takes the lock exactly once more', async (_, { change, outcome, also = [] }) => {
    const customer = await ledger.customer({ topup: 1_000n });
    const replica = await Replica.knowing(customer);
    expect((await reserve(replica, customer, 0n)).sent).toEqual(FROM_MEMORY);
    await change(customer);
    const next = await reserve(replica, customer);
    expect(next.outcome).toMatchObject(outcome);
    expect(next.sent).toEqual([...FROM_MEMORY, ...LOCKED_REFUSAL, ...also]);
  });

  test.each([
    ['a top-up', ({ accountId }: Customer) => topUp(ledger.sql, { accountId, amount: picoUsd(1_000n), paymentId: randomUUID() })],
    [
      'a plan',
      ({ accountId }: Customer) =>
        grantPlan(ledger.sql, { accountId, grantId: randomUUID(), amount: picoUsd(1_000n), endsAt: new Date(Date.now() + 3_600_000) }),
    ],
  ])('%s, and takes the lock exactly once more', async (_, change) => {
    const customer = await ledger.customer({ topup: 100n });
    const replica = await Replica.knowing(customer);
    expect((await reserve(replica, customer, 500n)).outcome).toMatchObject({ status: 'refused', code: 'insufficient_balance' });
    await change(customer);
    const next = await reserve(replica, customer, 500n);
    expect(next.outcome).toMatchObject({ status: 'held' });
    expect(next.sent).toEqual([...FROM_MEMORY, ...LOCKED]);
  });
});

describe('an account with budgets', () => {
  const LOCKED_WITH_BUDGETS = ['lock_accounts', 'read_batch', 'read_budgets', 'write_budgets', 'write_batch'];
  const FROM_MEMORY_WITH_BUDGETS = ['write_cached_batch_reserves_budgets'];

  test('is decided from memory, and the next batch sees a changed budget', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { accountId, projectId, keyId } = customer;
    for (const target of [{}, { projectId }, { keyId }])
      await setBudget(ledger.prisma, { accountId, ...target, period: 'total', limitPicoUsd: '250' });
    const replica = await Replica.open();
    const holdId = randomUUID();
    const sent = [
      (await replica.reserve(customer, 100n, holdId)).sent,
      (await replica.reserve(customer, 100n)).sent,
      (await replica.settle(customer, holdId, 90)).sent,
    ];
    expect(sent).toEqual([LOCKED_WITH_BUDGETS, FROM_MEMORY_WITH_BUDGETS, ['write_cached_batch_settles_budgets']]);
    expect(await replica.reserve(customer, 61n)).toMatchObject({
      outcome: { status: 'refused', code: 'insufficient_balance', budget: { keyId, leftPicoUsd: '60' } },
      sent: FROM_MEMORY,
    });
    await setBudget(ledger.prisma, { accountId, keyId, period: 'total', limitPicoUsd: '240' });
    expect(await replica.reserve(customer, 51n)).toMatchObject({
      outcome: { status: 'refused', code: 'insufficient_balance', budget: { keyId, leftPicoUsd: '50' } },
      sent: [...FROM_MEMORY_WITH_BUDGETS, 'lock_accounts', 'read_batch', 'read_budgets'],
    });
  });

  test('takes the lock near the end of a window', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { accountId } = customer;
    const { resetsAt } = await setBudget(ledger.prisma, { accountId, period: 'day', limitPicoUsd: '250' });
    const end = Date.parse(resetsAt ?? '');
    const replica = await Replica.open();
    const sentAt = async (now: number) => (await replica.reserve(customer, 1n, randomUUID(), now)).sent;
    expect([await sentAt(end - 252), await sentAt(end - 251), await sentAt(end - 250), await sentAt(end), await sentAt(end)]).toEqual([
      LOCKED_WITH_BUDGETS,
      FROM_MEMORY_WITH_BUDGETS,
      LOCKED_WITH_BUDGETS,
      ['lock_accounts', 'read_batch', 'read_budgets', 'open_budget_windows', 'write_budgets', 'write_batch'],
      FROM_MEMORY_WITH_BUDGETS,
    ]);
  });
});

test('an account with rate limits is decided from memory, and the next batch sees a changed limit', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId, projectId, keyId } = customer;
  await updateProject(ledger.prisma, { projectId, tokensPerMinuteMax: 1_000 });
  await updateKey(ledger.prisma, { keyId, tokensPerMinuteMax: 100, concurrencyMax: 5 });
  const replica = await Replica.open();
  const ask = async (holdId: string, tokensMax: number) => {
    const { reserves, sent } = await replica.apply({ reserves: [{ ...makeReserve(customer, 1n, holdId), tokensMax }] });
    return { outcome: reserves[0], sent };
  };
  const holds = [randomUUID(), randomUUID()] as const;
  const sent = [(await ask(holds[0], 40)).sent, (await ask(holds[1], 40)).sent, (await replica.settle(customer, holds[1], 10)).sent];
  expect(sent).toEqual([
    ['lock_accounts', 'read_batch', 'read_limits', 'read_tokens', 'write_limits', 'write_batch_with_rare_columns'],
    ['write_cached_batch_rare_reserves_limits'],
    ['write_cached_batch_settles_limits'],
  ]);
  const left = { limit: 100, remaining: 50, resetSeconds: 60 };
  expect(await ask(randomUUID(), 51)).toMatchObject({ outcome: { status: 'refused', keyId, tokens: left }, sent: FROM_MEMORY });
  await updateKey(ledger.prisma, { keyId, tokensPerMinuteMax: 60 });
  expect(await ask(randomUUID(), 11)).toMatchObject({ outcome: { status: 'refused', limit: 60, tokens: { remaining: 10 } } });
  // A replica that did not open the hold knows its tokens from the row.
  const other = await Replica.open();
  await other.settle(customer, holds[0], 5);
  expect(await ask(randomUUID(), 45)).toMatchObject({ outcome: { status: 'held', tokens: { limit: 60, remaining: 0 } } });
  const { rows } = await ledger.sql.query('SELECT id, open_holds FROM billing.rate_limit WHERE account_id = $1 ORDER BY id = $2', [
    accountId,
    keyId,
  ]);
  expect(rows).toEqual([projectId, keyId].map((id) => ({ id, open_holds: 1 })));
});

test('holds with the price of a plan are opened under the lock and from memory, beside others', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replica = await Replica.open();
  const { price, ...reserve } = makeReserve(customer, 1n);
  const batch = () => [{ ...reserve, holdId: randomUUID(), price: { ...price, pricePlan: 'gold' } }, makeReserve(customer, 1n)] as const;
  const batches = [batch(), batch()];
  const sent: unknown[] = [];
  for (const reserves of batches) sent.push((await replica.apply({ reserves: [...reserves] })).sent);
  expect(sent).toEqual([['lock_accounts', 'read_batch', 'write_batch_with_rare_columns'], ['write_cached_batch_rare_reserves']]);
  const sql = 'SELECT id, price_plan FROM billing.hold WHERE account_id = $1';
  const { rows } = await ledger.sql.query<{ id: string; price_plan: string | null }>(sql, [customer.accountId]);
  const plans = new Map(rows.map(({ id, price_plan }) => [id, price_plan]));
  expect(batches.flat().map(({ holdId }) => plans.get(holdId))).toEqual(['gold', null, 'gold', null]);
  await replica.apply({ settles: batches.flat().map(({ holdId }) => ({ holdId, accountId: customer.accountId, reason: 'released' })) });
});

test('holds with the price of a request or an image are opened and settled under the lock and from memory, beside others', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replica = await Replica.open();
  const { price, ...reserve } = makeReserve(customer, 100n);
  const prices = [{ ...price, requestPicoUsd: '7' }, { ...price, imagePicoUsd: '5', images: 3 }, { ...price, imagePicoUsd: '5' }, price];
  const batch = () => prices.map((one) => ({ ...reserve, holdId: randomUUID(), price: one }));
  const batches = [batch(), batch()];
  const sent: unknown[] = [];
  for (const reserves of batches) sent.push((await replica.apply({ reserves })).sent);
  expect(sent).toEqual([['lock_accounts', 'read_batch', 'write_batch_with_rare_columns'], ['write_cached_batch_rare_reserves']]);
  const settles = batches
    .flat()
    .map(({ holdId }) => ({ holdId, accountId: customer.accountId, reason: 'completed' as const, usage: makeUsage(1) }));
  await replica.apply({ settles });
  const sql = 'SELECT hold_id, request_price::text, image_price::text, images, cost::text FROM billing.settlement WHERE account_id = $1';
  const { rows } = await ledger.sql.query<{ hold_id: string; cost: string }>(sql, [customer.accountId]);
  const found = new Map(rows.map(({ hold_id, ...row }) => [hold_id, row]));
  const cost = (besides: number): string => String(Number(price.inputPicoUsd) + besides);
  const expected = [
    { request_price: '7', image_price: null, images: null, cost: cost(7) },
    { request_price: null, image_price: '5', images: 3, cost: cost(15) },
    { request_price: null, image_price: '5', images: 0, cost: cost(0) },
    { request_price: null, image_price: null, images: null, cost: cost(0) },
  ];
  expect(batches.flat().map(({ holdId }) => found.get(holdId))).toEqual([...expected, ...expected]);
});

test('a plan that ends within the tolerance of the clock ends under the lock', async () => {
  const customer = await ledger.customer({ topup: 10n });
  const { accountId } = customer;
  const endsAt = new Date(NOW + 3_600_000);
  await grantPlan(ledger.sql, { accountId, grantId: randomUUID(), amount: picoUsd(500n), endsAt });
  const replica = await Replica.knowing(customer);
  const late = await replica.reserve(customer, 11n, randomUUID(), endsAt.getTime() - 1);
  expect(late).toMatchObject({ outcome: { status: 'held' }, sent: LOCKED });
  const over = await replica.reserve(customer, 11n, randomUUID(), endsAt.getTime());
  expect(over).toMatchObject({
    outcome: { status: 'refused', code: 'insufficient_balance' },
    sent: ['lock_accounts', 'read_batch', 'forfeit_grants', 'write_events', 'write_batch'],
  });
});

test('a key that ends within the tolerance of the clock is decided under the lock', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const end = NOW + 3_600_000;
  await ledger.sql.query('UPDATE billing.api_key SET expires_at = $2 WHERE id = $1', [customer.keyId, new Date(end)]);
  const replica = await Replica.knowing(customer);
  const reserveAt = async (now: number): Promise<unknown[]> => {
    const { outcome, sent } = await replica.reserve(customer, 1n, randomUUID(), now);
    return [outcome.status, sent];
  };
  expect([await reserveAt(end - 251), await reserveAt(end - 250), await reserveAt(end - 1), await reserveAt(end)]).toEqual([
    ['held', FROM_MEMORY],
    ['held', LOCKED],
    ['held', LOCKED],
    ['refused', LOCKED_REFUSAL],
  ]);
});

test('two replicas that alternate on one account: every batch counts, and neither retries its memory of a shared account', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const [first, second] = [await Replica.knowing(customer), await Replica.open()];
  const holdIds = Array.from({ length: 6 }, () => randomUUID());
  const sent: string[][] = [];
  for (const [turn, holdId] of holdIds.entries()) {
    const replica = turn % 2 === 0 ? first : second;
    const { outcome, sent: statements } = await replica.reserve(customer, 100n, holdId);
    expect(outcome).toEqual(held(holdId));
    sent.push(statements);
  }
  const changed = [...FROM_MEMORY, ...LOCKED];
  expect(sent).toEqual([FROM_MEMORY, LOCKED, changed, changed, LOCKED, LOCKED]);
  // Each replica settles the hold of the other.
  for (const [turn, holdId] of holdIds.entries()) {
    const { outcome } = await (turn % 2 === 0 ? second : first).settle(customer, holdId, 10);
    expect(outcome).toEqual({ status: 'settled', holdId, costPicoUsd: '10' });
  }
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '940', topup_held: '0', open_holds: 1 });
});

test('a hold that another replica settled gets its recorded outcome', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replica = await Replica.knowing(customer);
  const holdId = randomUUID();
  expect((await replica.reserve(customer, 100n, holdId)).sent).toEqual(FROM_MEMORY);
  await (await Replica.open()).settle(customer, holdId, 30);
  const again = await replica.settle(customer, holdId, 60);
  expect(again).toEqual({ outcome: { status: 'already', holdId, costPicoUsd: '30' }, sent: [...SETTLED_FROM_MEMORY, ...LOCKED_REFUSAL] });
});

test('a batch whose reply was lost gets its recorded outcomes, on another connection and on the same', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replica = await Replica.knowing(customer);
  const first = makeReserve(customer, 100n);
  await replica.apply({ reserves: [first] });
  const settles = [{ holdId: first.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(30) } as const];
  const reserves = [makeReserve(customer, 50n)];
  expect((await replica.apply({ settles, reserves })).sent).toEqual(BOTH_FROM_MEMORY);
  for (const other of [await Replica.open(), replica]) {
    const again = await other.apply({ settles, reserves });
    expect(again.settles).toEqual([{ status: 'already', holdId: first.holdId, costPicoUsd: '30' }]);
    expect(again.reserves).toEqual(reserves.map(({ holdId }) => held(holdId)));
  }
});

describe('a reserve whose id was settled before is closed', () => {
  test('when it would be held', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const holdId = randomUUID();
    await (await Replica.open()).settle(customer, holdId, 0, { reason: 'released' });
    const replica = await Replica.knowing(customer);
    const late = await replica.reserve(customer, 100n, holdId);
    expect(late).toEqual({ outcome: { status: 'closed', holdId }, sent: [...FROM_MEMORY, ...LOCKED_REFUSAL] });
  });

  test('when it would be refused', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const holdId = randomUUID();
    await (await Replica.open()).settle(customer, holdId, 0, { reason: 'released' });
    const replica = await Replica.knowing(customer);
    expect((await replica.reserve(customer, 2_000n, holdId)).outcome).toEqual({ status: 'closed', holdId });
  });

  test('when its release was committed while the batch waited for the account', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { accountId } = customer;
    const holdId = randomUUID();
    const replica = await Replica.knowing(customer);
    // Writes as another replica does, without a change of the account's row.
    const other = await ledger.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    const late = replica.reserve(customer, 100n, holdId);
    await untilBlocked();
    await other.query(
      `INSERT INTO billing.settlement (hold_id, account_id, reason, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over,
        prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, settled_at)
       VALUES ($1, $2, 'released', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, now())`,
      [holdId, accountId],
    );
    await other.query('COMMIT');
    expect(await late).toEqual({ outcome: { status: 'closed', holdId }, sent: [...FROM_MEMORY, ...LOCKED_REFUSAL] });
  });
});

test('a reserve that is repeated is held, although a new one would be refused', async () => {
  const customer = await ledger.customer({ topup: 1_000n, concurrencyMax: 2 });
  const holdId = randomUUID();
  await (await Replica.open()).reserve(customer, 100n, holdId);
  const replica = await Replica.knowing(customer);
  expect((await replica.reserve(customer, 100n)).outcome).toMatchObject({ code: 'concurrency_limit' });
  expect((await replica.reserve(customer, 100n, holdId)).outcome).toEqual(held(holdId));
});

test('a balance that another replica changes while the batch waits for the account is not overspent', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replica = await Replica.knowing(customer);
  const other = await ledger.connect();
  await other.query('BEGIN');
  await other.query('UPDATE billing.account SET topup_held = 950, open_holds = open_holds + 1 WHERE id = $1', [customer.accountId]);
  const waiting = replica.reserve(customer, 100n);
  await untilBlocked();
  const { accountId, projectId, keyId } = customer;
  await other.query('UPDATE billing.project SET open_holds = open_holds + 1 WHERE id = $1', [projectId]);
  await other.query(
    `INSERT INTO billing.hold (id, account_id, project_id, key_id, request_id, model, amount, plan_part, price_version, input_price,
      cached_input_price, output_price, created_at, lease_until)
     VALUES ($1, $2, $3, $4, 'other', 'sim-fast', 950, 0, 1, 1, 0, 2, now(), now() + interval '1 hour')`,
    [randomUUID(), accountId, projectId, keyId],
  );
  await other.query('COMMIT');
  expect(await waiting).toMatchObject({
    outcome: { code: 'insufficient_balance', availablePicoUsd: '50' },
    sent: [...FROM_MEMORY, ...LOCKED_REFUSAL],
  });
});

test('the reaper bills the meter reading in the database, not the cached hold', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replica = await Replica.knowing(customer);
  const holdId = randomUUID();
  expect((await replica.reserve(customer, 100n, holdId)).sent).toEqual(FROM_MEMORY);
  await renewHolds(await ledger.connect(), [{ holdId, sequence: 1, usage: makeUsage(25) }], 60_000);
  const { settles, sent } = await replica.apply(
    { settles: [{ holdId, accountId: customer.accountId, reason: 'lease-expired' }] },
    NOW + 3_600_000,
  );
  expect({ settles, sent }).toEqual({ settles: [{ status: 'settled', holdId, costPicoUsd: '25' }], sent: LOCKED });
});

describe('a budget of each user', () => {
  const FROM_MEMORY_WITH_VALUES = ['write_cached_batch_reserves_values'];
  const reserveFor = (customer: Customer, user: string, amount: bigint) => ({ ...makeReserve(customer, amount), attribution: { user } });

  test('is decided from memory for users that were never seen, and a user who is refused takes the lock until it is admitted', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { accountId } = customer;
    await setBudget(ledger.prisma, { accountId, dimension: 'user', period: 'total', limitPicoUsd: '100' });
    const replica = await Replica.knowing(customer);
    const now = Date.now();
    await replica.learn(customer, now);
    const ask = async (user: string, amount: bigint) => {
      const { reserves, sent } = await replica.apply({ reserves: [reserveFor(customer, user, amount)] }, now);
      return [reserves[0]?.status, sent];
    };
    const locked = ['lock_accounts', 'read_batch', 'read_budgets', 'read_budget_values'];
    expect([
      await ask('alice', 60n),
      await ask('bob', 60n),
      await ask('alice', 60n),
      await ask('alice', 60n),
      await ask('bob', 40n),
      await ask('alice', 40n),
      await ask('alice', 0n),
    ]).toEqual([
      ['held', FROM_MEMORY_WITH_VALUES],
      ['held', FROM_MEMORY_WITH_VALUES],
      ['refused', [...FROM_MEMORY_WITH_VALUES, ...locked]],
      ['refused', locked],
      ['held', FROM_MEMORY_WITH_VALUES],
      ['held', [...locked, 'write_budget_values', 'write_batch']],
      ['held', FROM_MEMORY],
    ]);
  });

  test('is settled from memory, and another replica knows at once', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const { accountId } = customer;
    await setBudget(ledger.prisma, { accountId, dimension: 'user', period: 'total', limitPicoUsd: '100' });
    const now = Date.now();
    const [one, other] = [await Replica.open(), await Replica.open()];
    // The first batches after those of another replica take the lock.
    for (const replica of [one, other, one, one, one]) await replica.learn(customer, now);
    const reserve = reserveFor(customer, 'alice', 100n);
    await one.apply({ reserves: [reserve] }, now);
    const { settles, sent } = await one.apply(
      { settles: [{ holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(30) }] },
      now,
    );
    expect([settles, sent]).toEqual([
      [{ status: 'settled', holdId: reserve.holdId, costPicoUsd: '30' }],
      ['write_cached_batch_settles_values'],
    ]);
    const { reserves } = await other.apply({ reserves: [reserveFor(customer, 'alice', 71n), reserveFor(customer, 'alice', 70n)] }, now);
    expect(reserves).toMatchObject([{ budget: { leftPicoUsd: '70' } }, { status: 'held' }]);
  });
});

describe('the clock of the database', () => {
  test.each([3_600_000, -3_600_000])(
    'set by %i ms: the next batch takes the lock, and those after it go by the new time',
    async (shift) => {
      const customer = await ledger.customer({ topup: 1_000n });
      const replica = await Replica.open(clock.connect);
      const reserve = async (): Promise<{ sent: string[]; drift: number }> => {
        const holdId = randomUUID();
        const { reserves, sent } = await replica.apply({ reserves: [makeReserve(customer, 1n, holdId)] }, 'clock');
        expect(reserves).toEqual([held(holdId)]);
        const sql = 'SELECT extract(epoch FROM created_at - clock.shifted())::float8 AS ahead FROM billing.hold WHERE id = $1';
        return { sent, drift: Math.round((await ledger.sql.query<{ ahead: number }>(sql, [holdId])).rows[0]?.ahead ?? Number.NaN) / 3_600 };
      };
      for (let batch = 0; batch < 3; batch++) await reserve();
      await clock.set(shift);
      expect((await reserve()).sent).toEqual([...FROM_MEMORY, ...LOCKED]);
      expect(Math.abs((await reserve()).drift)).toBeLessThan(0.5);
    },
  );
});

/** Resolves when a statement of a lane waits for a lock. */
async function untilBlocked(): Promise<void> {
  const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await ledger.sql.query(sql)).rowCount === 0);
}
