import { setTimeout as delay } from 'node:timers/promises';
import type { PgConnection } from '#database/pg-connection.js';
import type { HoldLanes } from '../src/holds/hold-lanes.js';
import { Reaper } from '../src/holds/reaper.js';
import { LedgerFixture, reserveOf, usageOf } from './ledger-fixture.js';

/** Bugs of other gateways, one test each: here those of the ledger, in test/e2e/known-bugs.test.ts those of a whole system. */
const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };

let ledger: LedgerFixture;
beforeAll(async () => {
  ledger = await LedgerFixture.open();
});
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

/** Makes `count` replicas, each with its own connections. */
function replicas(count: number): HoldLanes[] {
  return Array.from({ length: count }, () => ledger.newLanes({ times: TIMES, batchMax: 16 }));
}

test('check-then-act (new-api#5690, #6609; one-api#2440; LiteLLM#34732, #40095, #26672): 1,000 concurrent requests on a $5 cap spend $5', async () => {
  const customer = await ledger.customer({ topup: 5_000n });
  const all = replicas(4);
  const spent = await Promise.all(
    Array.from({ length: 1_000 }, async (_, count) => {
      const lanes = all[count % all.length] as HoldLanes;
      const reserve = reserveOf(customer, 100n);
      const outcome = await lanes.reserve(reserve);
      if (outcome.status !== 'held') return 0n;
      const { holdId, accountId } = reserve;
      return BigInt((await lanes.settle({ holdId, accountId, reason: 'completed', usage: usageOf(100) })).costPicoUsd);
    }),
  );
  expect(spent.reduce((sum, cost) => sum + cost, 0n)).toBe(5_000n);
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '0', topup_held: '0', open_holds: 0 });
});

test('a "trusted" customer skips the deduction (one-api#2440): a balance of hundreds of holds is held like any other', async () => {
  const customer = await ledger.customer({ topup: 60_000n });
  const [lanes] = replicas(1) as [HoldLanes];
  const outcomes = await Promise.all(Array.from({ length: 800 }, () => lanes.reserve(reserveOf(customer, 100n))));
  expect(outcomes.filter(({ status }) => status === 'held')).toHaveLength(600);
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '60000', topup_held: '60000', open_holds: 600 });
});

test('a panic leaks the deduction (new-api#4429): 6 of 8 requests lose their process, and all their money is returned', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const [dying, living] = replicas(2) as [HoldLanes, HoldLanes];
  const reserves = Array.from({ length: 8 }, () => reserveOf(customer, 100n));
  for (const reserve of reserves) expect(await dying.reserve(reserve)).toMatchObject({ status: 'held' });
  for (const { holdId, accountId } of reserves.slice(0, 2)) {
    await dying.settle({ holdId, accountId, reason: 'completed', usage: usageOf(10) });
  }
  // The other half crashes.
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second'`);
  const reaper = new Reaper({
    connect: ledger.connect,
    lanes: living,
    times: TIMES,
    intervalMs: 1_000,
    sweepIntervalMs: 60_000,
    renewalsArrive: async () => true,
    logger: ledger.logger,
  });
  await reaper.tick(); // has just come: extends the leases first
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second'`);
  await reaper.tick();
  await reaper.stop();
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '980', topup_held: '0', open_holds: 0 });
});

test('reservations in a process outlive their requests (LiteLLM#27639, #40050): the database counts, so no 429 is false', async () => {
  const customer = await ledger.customer({ topup: 1_000_000n, concurrencyMax: 10 });
  const all = replicas(3);
  for (let round = 0; round < 5; round++) {
    const reserves = Array.from({ length: 10 }, () => reserveOf(customer, 10n));
    const outcomes = await Promise.all(reserves.map((reserve, count) => (all[count % 3] as HoldLanes).reserve(reserve)));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(10).fill('held'));
    expect(await all[0]?.reserve(reserveOf(customer, 10n))).toMatchObject({ code: 'concurrency_limit', limit: 10 });
    // Another replica than the one that opened it ends it.
    await Promise.all(
      reserves.map(({ holdId, accountId }, count) =>
        (all[(count + 1) % 3] as HoldLanes).settle({ holdId, accountId, reason: 'client-disconnected' }),
      ),
    );
  }
});

test('a pending amount is posted above its hold (TigerBeetle: exceeds_pending_transfer_amount): the hold is the maximum cost', async () => {
  const customer = await ledger.customer({ topup: 150n });
  const [lanes] = replicas(1) as [HoldLanes];
  const reserve = reserveOf(customer, 100n);
  await lanes.reserve(reserve);
  const { holdId, accountId } = reserve;
  expect(await lanes.settle({ holdId, accountId, reason: 'completed', usage: usageOf(140) })).toMatchObject({ costPicoUsd: '100' });
  const { rows } = await ledger.sql.query('SELECT over FROM billing.settlement WHERE hold_id = $1', [holdId]);
  expect(rows).toEqual([{ over: '40' }]);
});

test('small negative balances (OpenRouter): concurrent settles, late settles and reserves never go below zero', async () => {
  const customer = await ledger.customer({ topup: 300n });
  const [first, second, third] = replicas(3) as [HoldLanes, HoldLanes, HoldLanes];
  const reserves = Array.from({ length: 3 }, () => reserveOf(customer, 100n));
  for (const reserve of reserves) await first.reserve(reserve);
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE account_id = $1`, [
    customer.accountId,
  ]);
  await Promise.all(reserves.map(({ holdId, accountId }) => second.settle({ holdId, accountId, reason: 'lease-expired' })));
  await Promise.all([
    ...reserves.map(({ holdId, accountId }) => third.settle({ holdId, accountId, reason: 'completed', usage: usageOf(100) })),
    ...Array.from({ length: 6 }, (_, count) => (count % 2 ? first : second).reserve(reserveOf(customer, 50n))),
  ]);
  const { topup, topup_held: heldNow } = (await ledger.account(customer.accountId)) as { topup: string; topup_held: string };
  expect(BigInt(topup) >= BigInt(heldNow) && BigInt(heldNow) >= 0n).toBe(true);
});

test('a dead process holds a lock: another replica goes on within seconds', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const stuck: PgConnection = await ledger.connect();
  await stuck.query('BEGIN');
  await stuck.query('SELECT 1 FROM billing.account WHERE id = $1 FOR UPDATE', [customer.accountId]);
  const [lanes] = replicas(1) as [HoldLanes];
  const outcome = lanes.reserve(reserveOf(customer, 10n));
  await delay(50);
  stuck.end().catch(() => undefined); // as the server does after idle_in_transaction_session_timeout
  expect(await outcome).toMatchObject({ status: 'held' });
});
