import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { HoldRenewal } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { Reaper, type ReaperOptions } from './reaper.js';
import { renewHolds } from './renew.js';
import { Renewals } from './renewals.js';

const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };

let lanes: HoldLanes;
let customer: Customer;
const reapers: Reaper[] = [];

const ledger = await LedgerFixture.open();
const connection = await ledger.connect();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000n });
  lanes = ledger.newLanes({ times: TIMES });
});
afterEach(async () => {
  await Promise.all(reapers.splice(0).map((reaper) => reaper.stop()));
  expect(await ledger.violations()).toEqual([]);
});
afterAll(() => ledger.close());

async function hold(amount = 100n): Promise<string> {
  const reserve = makeReserve(customer, amount);
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

async function newReaper(options: Partial<ReaperOptions> = {}): Promise<Reaper> {
  const defaults = { connect: ledger.connect, lanes, times: TIMES, intervalMs: 1_000, sweepIntervalMs: 0, logger: ledger.logger };
  const reaper = new Reaper({ ...defaults, renewalsArrive: async () => true, ...options });
  reapers.push(reaper);
  await reaper.tick(); // the first round only extends leases: the service was away until now
  return reaper;
}

/** Ends the lease of a hold one second ago. */
function lapse(holdId: string): Promise<unknown> {
  return ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [holdId]);
}

async function leaseLeft(holdId: string): Promise<number> {
  const { rows } = await ledger.sql.query<{ left: number }>(
    `SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 AS left FROM billing.hold WHERE id = $1`,
    [holdId],
  );
  return rows[0]?.left ?? Number.NaN;
}

/** Returns the renewed ids. */
async function renew(...renewals: HoldRenewal[]): Promise<string[]> {
  return [...(await renewHolds(connection, renewals, 60_000)).mayCall.keys()].sort();
}

const settle = (holdId: string, tokens: number) =>
  lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(tokens) });

const renewal = (holdId: string, sequence: number, tokens: number) => ({ holdId, sequence, usage: makeUsage(tokens) });

test('an abandoned hold is billed its last meter reading after its lease', async () => {
  const [lost, kept, silent] = [await hold(), await hold(), await hold()];
  expect(await renew(renewal(lost, 1, 10), renewal(lost, 2, 42), renewal(kept, 1, 7))).toEqual([lost, kept].sort());
  const reaper = await newReaper();
  await lapse(lost);
  await lapse(silent);
  await reaper.tick();
  const { rows } = await ledger.sql.query(
    'SELECT reason, cost, prompt_tokens FROM billing.settlement WHERE account_id = $1 ORDER BY cost',
    [customer.accountId],
  );
  expect(rows).toEqual([
    { reason: 'lease-expired', cost: '0', prompt_tokens: 0 },
    { reason: 'lease-expired', cost: '42', prompt_tokens: 42 },
  ]);
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '958', topup_held: '100', open_holds: 1 });
  expect(await renew(renewal(lost, 3, 50), renewal(kept, 2, 8))).toEqual([kept]);
  const late = { holdId: lost, accountId: customer.accountId, reason: 'completed' as const, usage: makeUsage(99) };
  await lanes.settle({ ...late, holdId: kept, usage: undefined });
});

test('the reaper and a settle in one batch: the settle counts', async () => {
  const holdId = await hold();
  await lapse(holdId);
  const single = ledger.newLanes({ times: TIMES, lanes: 1 });
  const common = { holdId, accountId: customer.accountId };
  expect(
    await Promise.all([
      single.settle({ ...common, reason: 'lease-expired' }),
      single.settle({ ...common, reason: 'completed', usage: makeUsage(9) }),
    ]),
  ).toEqual([
    { status: 'already', holdId, costPicoUsd: '9' },
    { status: 'settled', holdId, costPicoUsd: '9' },
  ]);
});

test('an older reading extends the lease and keeps the newer reading', async () => {
  const holdId = await hold();
  await renewHolds(connection, [renewal(holdId, 5, 50)], 60_000);
  await lapse(holdId);
  expect(await renew(renewal(holdId, 4, 40))).toEqual([holdId]);
  expect(await leaseLeft(holdId)).toBeGreaterThan(55);
  const { rows } = await ledger.sql.query(
    'SELECT meter_sequence, meter_prompt_tokens, meter_prompt_source, meter_output_source FROM billing.hold WHERE id = $1',
    [holdId],
  );
  expect(rows).toEqual([{ meter_sequence: 5, meter_prompt_tokens: 50, meter_prompt_source: 'reported', meter_output_source: 'reported' }]);
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'released' });
});

test('a renewal before the reaper decides keeps the hold', async () => {
  const holdId = await hold();
  await lapse(holdId);
  await renewHolds(connection, [renewal(holdId, 1, 10)], 60_000);
  const expire = { holdId, accountId: customer.accountId, reason: 'lease-expired' as const };
  expect(await lanes.settle(expire)).toEqual({ status: 'unknown', holdId, costPicoUsd: '0' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup_held: '100', open_holds: 1 });
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'released' });
});

test('a renewal that the reaper waits for keeps the hold', async () => {
  const holdId = await hold();
  await lapse(holdId);
  await ledger.sql.query('BEGIN');
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() + interval '1 minute' WHERE id = $1`, [holdId]);
  const reaped = lanes.settle({ holdId, accountId: customer.accountId, reason: 'lease-expired' });
  await waiting(1);
  await ledger.sql.query('COMMIT');
  expect(await reaped).toMatchObject({ status: 'unknown' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup_held: '100', open_holds: 1 });
  await lanes.settle({ holdId, accountId: customer.accountId, reason: 'released' });
});

test('renewals of the same holds in opposite orders do not deadlock', async () => {
  const ids = (await Promise.all(Array.from({ length: 3 }, () => hold(1n)))).sort();
  const [forward, backward] = await Promise.all([ledger.connect(), ledger.connect()]);
  const renewals = ids.map((holdId) => renewal(holdId, 1, 1));
  // Both renewals have locked half of the rows when the third lock is released.
  await ledger.sql.query('BEGIN');
  await ledger.sql.query('SELECT 1 FROM billing.hold WHERE id = $1 FOR UPDATE', [ids[1]]);
  const both = Promise.all([renewHolds(forward, renewals, 60_000), renewHolds(backward, [...renewals].reverse(), 60_000)]);
  await waiting(2);
  await ledger.sql.query('COMMIT');
  await both;
  await Promise.all(ids.map((holdId) => lanes.settle({ holdId, accountId: customer.accountId, reason: 'released' })));
});

test('within the grace after a lease a settle may still arrive', async () => {
  const patient = ledger.newLanes({ times: { ...TIMES, reaperGraceMs: 30_000 } });
  const holdId = await hold();
  await lapse(holdId);
  const expire = { holdId, accountId: customer.accountId, reason: 'lease-expired' as const };
  expect(await patient.settle(expire)).toMatchObject({ status: 'unknown' });
  expect(await lanes.settle(expire)).toMatchObject({ status: 'settled' });
});

test('after an interruption all leases are extended once before anything is reaped', async () => {
  let arrive = true;
  const reaper = await newReaper({ renewalsArrive: async () => arrive });
  const holdId = await hold();
  await lapse(holdId);
  arrive = false;
  await reaper.tick(); // NATS is away, so leases cannot be renewed
  expect(await leaseLeft(holdId)).toBeLessThan(0);
  arrive = true;
  await reaper.tick();
  expect(await leaseLeft(holdId)).toBeGreaterThan(55);
  await lapse(holdId);
  await reaper.tick();
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup_held: '0', open_holds: 0 });
});

test('nothing is reaped while settles wait', async () => {
  let waitingMs = 0;
  const reaper = await newReaper({
    lanes: {
      settle: (settle) => lanes.settle(settle),
      sweep: (accountId) => lanes.sweep(accountId),
      get waitingMs() {
        return waitingMs;
      },
    },
  });
  const holdId = await hold();
  await lapse(holdId);
  waitingMs = 5_000;
  await reaper.tick();
  expect(await ledger.account(customer.accountId)).toMatchObject({ open_holds: 1 });
  waitingMs = 0;
  await reaper.tick();
  expect(await ledger.account(customer.accountId)).toMatchObject({ open_holds: 0 });
});

test('a leader that renewals do not reach resigns to one that they reach', async () => {
  let arrive = true;
  const first = await newReaper({ renewalsArrive: async () => arrive });
  const second = await newReaper();
  const holdId = await hold();
  await lapse(holdId);
  await second.tick(); // does not lead
  arrive = false;
  await first.tick();
  await second.tick(); // leads, and was away until now for all it knows
  await lapse(holdId);
  await second.tick();
  expect(await ledger.account(customer.accountId)).toMatchObject({ open_holds: 0 });
});

test.each([
  ['its key was revoked', 'UPDATE billing.api_key SET revoked_at = now() WHERE id = $1', 'keyId'],
  ['its key was disabled', 'UPDATE billing.api_key SET disabled = true WHERE id = $1', 'keyId'],
  ['its key has expired', 'UPDATE billing.api_key SET expires_at = now() WHERE id = $1', 'keyId'],
  ['its project was disabled', 'UPDATE billing.project SET enabled = false WHERE id = $1', 'projectId'],
  ['its account was stopped', `UPDATE billing.account SET status = 'frozen' WHERE id = $1`, 'accountId'],
] as const)('the next renewal stops a running request when %s, and its hold stays open to be settled', async (_, sql, id) => {
  const renewals = new Renewals(60_000, {
    connect: ledger.connect,
    batchMax: 10,
    queueMax: 10,
    deadlineMs: 30_000,
    logger: ledger.logger,
  });
  const holdId = await hold();
  const usage = makeUsage(5);
  const reply = { renewed: [holdId], stop: [], unsettled: [], leaseMs: 60_000 };
  expect(await renewals.renew({ renewals: [{ holdId, sequence: 1, usage }] })).toEqual(reply);
  await ledger.sql.query(sql, [customer[id]]);
  expect(await renewals.renew({ renewals: [{ holdId, sequence: 2, usage }] })).toEqual({ ...reply, stop: [holdId] });
  expect(await settle(holdId, 5)).toEqual({ status: 'settled', holdId, costPicoUsd: '5' });
  await renewals.close();
});

test('a renewal reports which ended requests are not settled, those of the reaper included', async () => {
  const renewals = new Renewals(60_000, {
    connect: ledger.connect,
    batchMax: 10,
    queueMax: 10,
    deadlineMs: 30_000,
    logger: ledger.logger,
  });
  const [left, settled, unknown] = [await hold(), await hold(), randomUUID()];
  await settle(settled, 1);
  const reply = { renewed: [], stop: [], unsettled: [left], leaseMs: 60_000 };
  expect(await renewals.renew({ renewals: [], ended: [settled, left, unknown] })).toEqual(reply);
  await settle(left, 1);
  expect(await renewals.renew({ renewals: [], ended: [left] })).toEqual({ ...reply, unsettled: [] });

  const expired = await hold();
  await lapse(expired);
  await lanes.settle({ holdId: expired, accountId: customer.accountId, reason: 'lease-expired' });
  expect(await renewals.renew({ renewals: [], ended: [expired] })).toEqual({ ...reply, unsettled: [expired] });
  await settle(expired, 50);
  expect(await renewals.renew({ renewals: [], ended: [expired] })).toEqual({ ...reply, unsettled: [] });
  await renewals.close();
});

test('a renewal probe detects whether renewals arrive', async () => {
  let away = false;
  const connect = (): Promise<PgConnection> => (away ? Promise.reject(new Error('away')) : ledger.connect());
  const options = { connect, batchMax: 10, queueMax: 10, deadlineMs: 5_000, logger: ledger.logger };
  const renewals = new Renewals(60_000, options);
  expect(await renewals.canStore()).toBe(true);
  await renewals.close();
  away = true;
  const unreachable = new Renewals(60_000, options);
  expect(await unreachable.canStore()).toBe(false);
  await unreachable.close();
});

test('one reaper leads; another takes over when its connection is lost', async () => {
  const connections: PgConnection[] = [];
  const connect = async (): Promise<PgConnection> => {
    const opened = await ledger.connect();
    connections.push(opened);
    return opened;
  };
  const first = await newReaper({ connect });
  const second = await newReaper();
  const holdId = await hold();
  await second.tick();
  await lapse(holdId);
  await second.tick();
  expect(await ledger.account(customer.accountId)).toMatchObject({ open_holds: 1 });
  const { rows } = await ledger.sql.query<{ pid: number }>(
    `SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database()`,
  );
  expect(rows).toHaveLength(1);
  await ledger.sql.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
  while (await lockHeld()) await delay(5);
  await second.tick(); // leads, and was away until now for all it knows
  await lapse(holdId);
  await second.tick();
  expect(await ledger.account(customer.accountId)).toMatchObject({ open_holds: 0 });
  await first.tick();
});

test('expired plans are ended by the sweep', async () => {
  await ledger.sql.query(
    `WITH g AS (INSERT INTO billing.movement (account_id, kind, amount, grant_id, grant_ends_at, idempotency_key)
       VALUES ($1, 'grant', 50, gen_random_uuid(), clock_timestamp() - interval '1 second', gen_random_uuid()) RETURNING *)
     UPDATE billing.account a SET plan = 50, grant_id = g.grant_id, grant_ends_at = g.grant_ends_at FROM g WHERE a.id = $1`,
    [customer.accountId],
  );
  const reaper = await newReaper();
  await reaper.tick();
  expect(await ledger.account(customer.accountId)).toMatchObject({ plan: '0', topup: '1000' });
});

async function lockHeld(): Promise<boolean> {
  const { rows } = await ledger.sql.query(
    `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database()`,
  );
  return rows.length > 0;
}

/** Resolves when `count` statements wait for a lock. */
async function waiting(count: number): Promise<void> {
  for (;;) {
    const rows = await ledger.prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    if (rows.length >= count) return;
    await delay(5);
  }
}
