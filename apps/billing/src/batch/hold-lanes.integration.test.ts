import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LedgerFixture, makeReserve, makeUsage, PRICE, TIMES } from '../../test/ledger-fixture.js';
import { showRequest } from '../holds/show-request.js';

const ledger = await LedgerFixture.open();
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

test('200 parallel reserves from two replicas on money for 10: exactly 10 held, never negative [hold-covered]', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replicas = [ledger.newLanes({ batchMax: 7 }), ledger.newLanes()];
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, (_, count) => (replicas[count % 2] as (typeof replicas)[0]).reserve(makeReserve(customer, 100n))),
  );
  const held = outcomes.filter(({ status }) => status === 'held');
  const refused = outcomes.filter(({ status }) => status === 'refused');
  expect(held).toHaveLength(10);
  expect(refused).toHaveLength(190);
  expect(refused.at(-1)).toEqual({
    status: 'refused',
    holdId: expect.any(String),
    code: 'insufficient_balance',
    requiredPicoUsd: '100',
    availablePicoUsd: '0',
  });
  expect(await ledger.account(customer.accountId)).toEqual(row({ topup: '1000', topup_held: '1000', open_holds: 10 }));
});

test('a request is charged its usage, the rest of the hold is returned, and request.show has all of it [hold-then-charge, hold-settled]', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const reserve = makeReserve(customer, 500n);
  const { holdId, accountId } = reserve;
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held', holdId, leaseMs: TIMES.leaseMs });
  const shown = {
    requestId: reserve.requestId,
    traceId: null,
    holdId,
    ...customer,
    model: 'sim-fast',
    upstream: null,
    heldPicoUsd: '500',
    attribution: {},
    price: PRICE,
    reservedAt: expect.stringMatching(/Z$/),
    settlement: null,
    creditNotes: [],
  };
  expect(await showRequest(ledger.prisma, reserve.requestId)).toEqual(shown);
  const usage = makeUsage(100, 30, 20);
  expect(await lanes.settle({ holdId, accountId, reason: 'completed', usage, upstream: 'local', settledBy: 'gateway' })).toEqual({
    status: 'settled',
    holdId,
    costPicoUsd: '140',
  });
  expect(await ledger.account(accountId)).toEqual(row({ topup: '860' }));
  expect(await showRequest(ledger.prisma, reserve.requestId)).toEqual({
    ...shown,
    upstream: 'local',
    settlement: {
      reason: 'completed',
      settledBy: 'gateway',
      usage,
      overPicoUsd: '0',
      settledAt: expect.stringMatching(/Z$/),
      costPicoUsd: '140',
      paid: { planPicoUsd: '0', topupPicoUsd: '140', endedPlanPicoUsd: '0' },
      writtenOffPicoUsd: '0',
      reaped: null,
    },
  });
});

test('concurrent settles from several replicas charge once and return the recorded cost', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const replicas = [ledger.newLanes(), ledger.newLanes()];
  const reserve = makeReserve(customer, 500n);
  const { holdId, accountId } = reserve;
  await replicas[0]?.reserve(reserve);
  const settle = (count: number) => ({ holdId, accountId, reason: 'completed' as const, usage: makeUsage(100 + count) });
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, count) => (replicas[count % 2] as (typeof replicas)[0]).settle(settle(count))),
  );
  const settled = outcomes.filter(({ status }) => status === 'settled');
  expect(settled).toHaveLength(1);
  expect(outcomes.filter(({ status }) => status === 'already')).toHaveLength(39);
  expect(new Set(outcomes.map(({ costPicoUsd }) => costPicoUsd)).size).toBe(1);
  expect(await ledger.account(accountId)).toEqual(row({ topup: String(1_000n - BigInt(settled[0]?.costPicoUsd ?? 0)) }));
  expect(await replicas[0]?.reserve(reserve)).toEqual({ status: 'closed', holdId });
});

test('a reserve that arrives after its release is closed; the release can be repeated', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const reserve = makeReserve(customer, 500n);
  const release = { holdId: reserve.holdId, accountId: customer.accountId, reason: 'released' as const };
  expect(await lanes.settle(release)).toEqual({ status: 'unknown', holdId: reserve.holdId, costPicoUsd: '0' });
  expect(await lanes.reserve(reserve)).toEqual({ status: 'closed', holdId: reserve.holdId });
  expect(await lanes.settle(release)).toEqual({ status: 'already', holdId: reserve.holdId, costPicoUsd: '0' });
  expect(await ledger.account(customer.accountId)).toEqual(row({ topup: '1000' }));
});

test('reserving again with the same id is answered "held" and holds once, even when the key was revoked meanwhile', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const reserve = makeReserve(customer, 500n);
  const held = { status: 'held', holdId: reserve.holdId, leaseMs: TIMES.leaseMs };
  expect(await Promise.all([lanes.reserve(reserve), lanes.reserve(reserve)])).toMatchObject([held, held]);
  await ledger.sql.query('UPDATE billing.api_key SET revoked_at = now() WHERE id = $1', [customer.keyId]);
  expect(await lanes.reserve(reserve)).toEqual(held);
  expect(await ledger.account(customer.accountId)).toEqual(row({ topup: '1000', topup_held: '500', open_holds: 1 }));
});

test.each([{ amountPicoUsd: '501' }, { projectId: randomUUID() }, { accountId: randomUUID() }])(
  'another reserve under the id of an open hold is closed: %j',
  async (other) => {
    const customer = await ledger.customer({ topup: 1_000n });
    const lanes = ledger.newLanes();
    const reserve = makeReserve(customer, 500n);
    await lanes.reserve(reserve);
    expect(await lanes.reserve({ ...reserve, ...other })).toEqual({ status: 'closed', holdId: reserve.holdId });
    expect(await ledger.account(customer.accountId)).toEqual(row({ topup: '1000', topup_held: '500', open_holds: 1 }));
  },
);

test('a usage above the hold costs the hold; the excess is recorded and not charged [limit-hold]', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const reserve = makeReserve(customer, 100n);
  await lanes.reserve(reserve);
  const { holdId, accountId } = reserve;
  const usage = makeUsage(2 ** 31 - 1, 2 ** 31 - 1);
  expect(await lanes.settle({ holdId, accountId, reason: 'completed', usage })).toEqual({ status: 'settled', holdId, costPicoUsd: '100' });
  const { rows } = await ledger.sql.query('SELECT cost, over FROM billing.settlement WHERE hold_id = $1', [holdId]);
  expect(rows).toEqual([{ cost: '100', over: String(3n * (2n ** 31n - 1n) - 100n) }]);
  expect(await ledger.account(accountId)).toEqual(row({ topup: '900' }));
});

test('refusals come in order: key, requests per minute, concurrency, funds [hold-refused, H-6]', async () => {
  const customer = await ledger.customer({ topup: 100n, requestsPerMinuteMax: 2, concurrencyMax: 1 });
  const lanes = ledger.newLanes();
  const ask = (amount: bigint, keyId = customer.keyId) => lanes.reserve(makeReserve({ ...customer, keyId }, amount));
  const holdId = expect.any(String);
  const unaffordable = { status: 'refused', holdId, code: 'insufficient_balance', requiredPicoUsd: '101', availablePicoUsd: '100' };
  expect(await ask(101n)).toEqual(unaffordable);
  expect(await ask(101n)).toEqual(unaffordable); // a refusal does not count towards requests per minute
  const first = makeReserve(customer, 60n);
  expect(await lanes.reserve(first)).toMatchObject({ status: 'held', requests: { limit: 2, remaining: 1, resetSeconds: 60 } });
  expect(await ask(60n)).toEqual({ status: 'refused', holdId, code: 'concurrency_limit', limit: 1, retryAfterSeconds: 1 });
  await lanes.settle({ holdId: first.holdId, accountId: customer.accountId, reason: 'released' });
  expect(await ask(60n)).toMatchObject({ status: 'held', requests: { limit: 2, remaining: 0, resetSeconds: 60 } });
  const requests = { limit: 2, remaining: 0, resetSeconds: 60 };
  expect(await ask(1_000n)).toEqual({ status: 'refused', holdId, code: 'rate_limit_exceeded', limit: 2, retryAfterSeconds: 60, requests });
  expect(await ask(1_000n, randomUUID())).toEqual({ status: 'refused', holdId, code: 'invalid_api_key' });
});

test.each([
  ['a revoked key', 'invalid_api_key', 'UPDATE billing.api_key SET revoked_at = now() WHERE id = $3'],
  ['a disabled key', 'invalid_api_key', 'UPDATE billing.api_key SET disabled = true WHERE id = $3'],
  ['an expired key', 'invalid_api_key', 'UPDATE billing.api_key SET expires_at = now() WHERE id = $3'],
  ['a disabled project', 'invalid_api_key', 'UPDATE billing.project SET enabled = false WHERE id = $2'],
  ['a frozen account', 'account_frozen', `UPDATE billing.account SET status = 'frozen' WHERE id = $1`],
])('%s is refused at the next reserve', async (_, code, change) => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  expect(await lanes.reserve(makeReserve(customer, 1n))).toMatchObject({ status: 'held' });
  await ledger.sql.query(`WITH ids AS (SELECT $1::uuid, $2::uuid, $3::uuid) ${change}`, [
    customer.accountId,
    customer.projectId,
    customer.keyId,
  ]);
  expect(await lanes.reserve(makeReserve(customer, 1n))).toEqual({ status: 'refused', holdId: expect.any(String), code });
});

test.each([
  ['requests per minute', { requestsPerMinuteMax: 12 }],
  ['concurrency', { concurrencyMax: 12 }],
])(
  '%s: of a hundred requests at once over three replicas, twelve are held [auth-account, limit-requests-per-minute, limit-concurrency]',
  async (_name, limit) => {
    const customer = await ledger.customer({ topup: 1_000n, ...limit });
    const replicas = [ledger.newLanes({ batchMax: 3 }), ledger.newLanes({ batchMax: 3 }), ledger.newLanes()];
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, count) => (replicas[count % 3] as (typeof replicas)[0]).reserve(makeReserve(customer, 1n))),
    );
    expect(outcomes.filter(({ status }) => status === 'held')).toHaveLength(12);
  },
);

test('a settle past its deadline is still settled; a reserve is dropped', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes({ lanes: 1, deadlineMs: 400 });
  const reserve = makeReserve(customer, 100n);
  const { holdId, accountId } = reserve;
  await lanes.settle({ holdId: randomUUID(), accountId, reason: 'released' }); // which may wait for the connection, however long that takes
  await ledger.newLanes().reserve(reserve);
  await ledger.sql.query('BEGIN');
  await ledger.sql.query('SELECT 1 FROM billing.account WHERE id = $1 FOR UPDATE', [accountId]);
  const underWay = lanes.reserve(reserve);
  await delay(1);
  const late = lanes.reserve(makeReserve(customer, 100n)).catch((error: unknown) => error);
  const settled = lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(7) });
  await delay(500);
  await ledger.sql.query('COMMIT');
  expect(await underWay).toMatchObject({ status: 'held' });
  expect(await late).toMatchObject({ name: 'ServiceError', code: 'unavailable' });
  expect(await settled).toEqual({ status: 'settled', holdId, costPicoUsd: '7' });
});

test('an item that the database refuses does not fail its batch', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const good = Array.from({ length: 9 }, () => makeReserve(customer, 1n));
  const bad = { ...makeReserve(customer, 1n), model: 'nul \0 is the one character Postgres does not store' };
  const outcomes = await Promise.allSettled([...good.slice(0, 4), bad, ...good.slice(4)].map((reserve) => lanes.reserve(reserve)));
  expect(outcomes.map(({ status }) => status)).toEqual([...Array(4).fill('fulfilled'), 'rejected', ...Array(5).fill('fulfilled')]);
  expect(outcomes[4]).toMatchObject({ reason: { name: 'ServiceError', code: 'internal_error' } });
});

test('a dead process that holds a lock delays other replicas by seconds at most', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const stuck = await ledger.connect();
  await stuck.query('BEGIN');
  await stuck.query('SELECT 1 FROM billing.account WHERE id = $1 FOR UPDATE', [customer.accountId]);
  const outcome = ledger.newLanes().reserve(makeReserve(customer, 10n));
  await delay(50);
  stuck.end().catch(() => undefined); // as the server does after idle_in_transaction_session_timeout
  expect(await outcome).toMatchObject({ status: 'held' });
});

function row(changed: Record<string, unknown>): Record<string, unknown> {
  return { topup: '0', topup_held: '0', plan: '0', plan_held: '0', expired: '0', open_holds: 0, ...changed };
}
