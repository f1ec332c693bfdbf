import { randomUUID } from 'node:crypto';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { ShiftedClock } from '../../test/shifted-clock.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { Reaper } from './reaper.js';

/** Sets the clock of the database while requests run. */
const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };
const HOUR_MS = 3_600_000;

let lanes: HoldLanes;
const reapers: Reaper[] = [];
const ledger = await LedgerFixture.open();
const clock = await ShiftedClock.of(ledger);
beforeEach(async () => {
  await clock.set(0);
  lanes = ledger.newLanes({ connect: clock.connect, times: TIMES });
});
afterEach(async () => {
  await Promise.all(reapers.splice(0).map((reaper) => reaper.stop()));
  expect(await ledger.violations()).toEqual([]);
});
afterAll(() => ledger.close());

function newReaper(): Reaper {
  const options = { lanes, times: TIMES, intervalMs: 60_000, sweepIntervalMs: 0, logger: ledger.logger };
  const reaper = new Reaper({ connect: clock.connect, renewalsArrive: async () => true, ...options });
  reapers.push(reaper);
  return reaper;
}

async function hold(customer: Customer): Promise<string> {
  const reserve = makeReserve(customer, 100n);
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

/** Returns the seconds left, by the clock as it is set. Undefined when the hold is not open. */
async function leaseLeft(holdId: string): Promise<number | undefined> {
  const sql = 'SELECT extract(epoch FROM lease_until - clock.shifted())::float8 AS left FROM billing.hold WHERE id = $1';
  return (await ledger.sql.query<{ left: number }>(sql, [holdId])).rows[0]?.left;
}

async function release(customer: Customer, ...holdIds: string[]): Promise<void> {
  for (const holdId of holdIds) await lanes.settle({ holdId, accountId: customer.accountId, reason: 'released' });
}

test('set back by an hour: a project at its limit is refused for a minute, not for the hour', async () => {
  const customer = await ledger.customer({ topup: 1_000n, requestsPerMinuteMax: 2 });
  await release(customer, await hold(customer), await hold(customer));
  await clock.set(-HOUR_MS);
  const refused = { status: 'refused', code: 'rate_limit_exceeded', limit: 2, retryAfterSeconds: 60 };
  expect(await lanes.reserve(makeReserve(customer, 1n))).toMatchObject(refused);
  await clock.set(-HOUR_MS + 60_000);
  expect(await lanes.reserve(makeReserve(customer, 1n))).toMatchObject({ status: 'held' });
});

test('set back by an hour: leases of running requests keep their length', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const reaper = newReaper();
  await reaper.tick(); // leads
  const holdId = await hold(customer);
  await ledger.sql.query(`UPDATE billing.hold SET created_at = created_at - interval '2 hours' WHERE id = $1`, [holdId]);
  await clock.set(-HOUR_MS);
  expect(await leaseLeft(holdId)).toBeGreaterThan(3_600);
  await reaper.tick();
  const left = await leaseLeft(holdId);
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(60);
  await release(customer, holdId);
});

test('set back by an hour while every replica restarts: holds from the future get a full lease', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  await clock.set(HOUR_MS);
  const holdId = await hold(customer);
  await clock.set(0);
  await newReaper().tick();
  expect(await leaseLeft(holdId)).toBeLessThanOrEqual(60);
  await release(customer, holdId);
});

test('set forward by an hour: no running request is reaped', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const reaper = newReaper();
  await reaper.tick(); // leads
  const holdId = await hold(customer);
  await clock.set(HOUR_MS);
  await reaper.tick();
  await reaper.tick();
  expect(await leaseLeft(holdId)).toBeGreaterThan(0);
  await release(customer, holdId);
});

test('the leader does not shorten a longer lease of another replica', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const longer = ledger.newLanes({ connect: clock.connect, times: { ...TIMES, leaseMs: 600_000 } });
  const reserve = makeReserve(customer, 100n);
  await longer.reserve(reserve);
  await newReaper().tick();
  expect(await leaseLeft(reserve.holdId)).toBeGreaterThan(60);
  await release(customer, reserve.holdId);
});

test('set back between a reserve and its settle: charged once, and a repeated settle gets that cost', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const holdId = await hold(customer);
  await clock.set(-HOUR_MS);
  const settle = { holdId, accountId: customer.accountId, reason: 'completed' as const, usage: makeUsage(40) };
  expect(await lanes.settle(settle)).toEqual({ status: 'settled', holdId, costPicoUsd: '40' });
  await clock.set(0);
  expect(await lanes.settle(settle)).toEqual({ status: 'already', holdId, costPicoUsd: '40' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '960', topup_held: '0', open_holds: 0 });
});

test('set back after the end of a plan: it stays ended, and is forfeited once', async () => {
  const customer = await ledger.customer({ topup: 10n });
  const { accountId } = customer;
  const grant = { grantId: randomUUID(), accountId, amount: picoUsd(500n), endsAt: new Date(Date.now() + HOUR_MS / 2) };
  await grantPlan(ledger.sql, grant);
  await clock.set(HOUR_MS);
  await lanes.sweep(accountId);
  await clock.set(0);
  expect(await lanes.reserve(makeReserve(customer, 11n))).toMatchObject({ status: 'refused', code: 'insufficient_balance' });
  await clock.set(HOUR_MS);
  await lanes.sweep(accountId);
  const { rows } = await ledger.sql.query(`SELECT amount FROM billing.movement WHERE kind = 'forfeit' AND account_id = $1`, [accountId]);
  expect(rows).toEqual([{ amount: '500' }]);
});
