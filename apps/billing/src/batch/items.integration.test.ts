import { setTimeout as delay } from 'node:timers/promises';
import type { ReserveRequest, TokenUsage } from '#contracts/billing/holds.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { setBudget } from '../budgets/budgets.js';
import { Reaper } from '../holds/reaper.js';
import { renewItems } from '../holds/renew-items.js';
import { listServices } from '../usage/list-services.js';
import { applyBatch } from './apply-batch.js';
import type { HoldLanes } from './hold-lanes.js';

const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };
/** Each unit costs 3. */
const UNIT = { version: 1, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0', requestPicoUsd: '3' };

let lanes: HoldLanes;
let customer: Customer;
let service: string;
let number = 0;

const ledger = await LedgerFixture.open();
const connection = await ledger.connect();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000n });
  lanes = ledger.newLanes({ times: TIMES });
  number += 1;
  service = `service-${number}`;
});
afterEach(async () => {
  await ledger.closeUsage();
  expect(await ledger.violations()).toEqual([]);
});
afterAll(() => ledger.close());

function makeItem(quantityMax: number, ceilings: Partial<NonNullable<ReserveRequest['item']>> = {}, payer = customer): ReserveRequest {
  const item = { service, quantityMax, ...ceilings };
  return { ...makeReserve(payer, BigInt(quantityMax) * 3n), model: `${service}/page`, price: UNIT, item };
}

async function hold(quantityMax: number, ceilings = {}): Promise<string> {
  const reserve = makeItem(quantityMax, ceilings);
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

const usage = (quantity: number): TokenUsage => ({ ...makeUsage(0), quantity });

const settle = (holdId: string, quantity: number, by = service) =>
  lanes.settle({ holdId, accountId: customer.accountId, service: by, upstream: by, reason: 'completed', usage: usage(quantity) });

async function readUse(): Promise<unknown> {
  const { rows } = await ledger.sql.query('SELECT spent::text, held::text, open_holds FROM billing.service_use WHERE service = $1', [
    service,
  ]);
  return rows[0];
}

async function reap(holdId: string): Promise<void> {
  const options = { connect: ledger.connect, lanes, times: TIMES, intervalMs: 1_000, sweepIntervalMs: 0, logger: ledger.logger };
  const reaper = new Reaper({ ...options, renewalsArrive: async () => true });
  await reaper.tick(); // the first round only extends leases
  await ledger.sql.query(`UPDATE billing.hold SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [holdId]);
  await reaper.tick();
  await reaper.stop();
}

test('an item is held at its most units, charged for those used, and charged once', async () => {
  const holdId = await hold(10);
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '1000', topup_held: '30', open_holds: 1 });
  expect(await settle(holdId, 4)).toEqual({ status: 'settled', holdId, costPicoUsd: '12' });
  expect(await settle(holdId, 9)).toEqual({ status: 'already', holdId, costPicoUsd: '12' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '988', topup_held: '0', open_holds: 0 });
  const { rows } = await ledger.sql.query(
    'SELECT model, upstream, quantity, prompt_tokens, output_tokens, request_price::text FROM billing.settlement WHERE hold_id = $1',
    [holdId],
  );
  expect(rows).toEqual([
    { model: `${service}/page`, upstream: service, quantity: 4, prompt_tokens: 0, output_tokens: 0, request_price: '3' },
  ]);
  expect(await readUse()).toEqual({ spent: '12', held: '0', open_holds: 0 });
});

test('units beyond the hold cost nothing', async () => {
  const holdId = await hold(2);
  expect(await settle(holdId, 5)).toMatchObject({ costPicoUsd: '6' });
  const { rows } = await ledger.sql.query('SELECT over::text, quantity FROM billing.settlement WHERE hold_id = $1', [holdId]);
  expect(rows).toEqual([{ over: '9', quantity: 5 }]);
});

test('a release costs nothing, and its reserve does not open again', async () => {
  const reserve = makeItem(5);
  await lanes.reserve(reserve);
  const release = { holdId: reserve.holdId, accountId: customer.accountId, service, reason: 'released' as const };
  expect(await lanes.settle(release)).toMatchObject({ status: 'settled', costPicoUsd: '0' });
  expect(await lanes.reserve(reserve)).toEqual({ status: 'closed', holdId: reserve.holdId });
});

test('a service cannot end or renew the hold of another one, or of a request to a model', async () => {
  const item = await hold(5);
  const request = { ...makeReserve(customer, 50n), model: `${service}/model` };
  await lanes.reserve(request);
  expect(await settle(item, 1, 'intruder')).toMatchObject({ status: 'unknown', costPicoUsd: '0' });
  expect(await settle(request.holdId, 1)).toMatchObject({ status: 'unknown', costPicoUsd: '0' });
  const renewal = { sequence: 9, usage: usage(8) };
  const renewed = await renewItems(
    connection,
    [
      { ...renewal, holdId: item, service: 'intruder' },
      { ...renewal, holdId: request.holdId, service },
    ],
    60_000,
  );
  expect(renewed).toEqual(new Map());
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '1000', topup_held: '65', open_holds: 2 });
  await settle(item, 0);
});

test('a hold whose lease ends is charged the units of the last renewal, and a later settlement corrects it once', async () => {
  const holdId = await hold(10);
  const renewal = (quantity: number) => ({ holdId, service, sequence: quantity + 1, usage: usage(quantity), leaseMs: 5_000 });
  await renewItems(connection, [renewal(6)], 60_000);
  await renewItems(connection, [renewal(2)], 60_000); // older
  await reap(holdId);
  expect(await readUse()).toEqual({ spent: '18', held: '0', open_holds: 0 });
  expect(await settle(holdId, 7, 'intruder')).toEqual({ status: 'unknown', holdId, costPicoUsd: '0' });
  expect(await settle(holdId, 8)).toMatchObject({ status: 'settled', costPicoUsd: '24' });
  expect(await settle(holdId, 9)).toMatchObject({ status: 'already', costPicoUsd: '24' });
  expect(await readUse()).toEqual({ spent: '24', held: '0', open_holds: 0 });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '976', topup_held: '0' });
});

test('a hold whose lease ends without a renewal costs nothing', async () => {
  const holdId = await hold(10);
  await reap(holdId);
  const { rows } = await ledger.sql.query('SELECT reason, cost::text, quantity FROM billing.settlement WHERE hold_id = $1', [holdId]);
  expect(rows).toEqual([{ reason: 'lease-expired', cost: '0', quantity: 0 }]);
});

test('a lease has the length that its reserve and its renewals name', async () => {
  const reserve = { ...makeItem(1), leaseMs: 600_000 };
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held', leaseMs: 600_000 });
  const left = async (): Promise<number> => {
    const { rows } = await ledger.sql.query<{ left: number }>(
      'SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 AS left FROM billing.hold WHERE id = $1',
      [reserve.holdId],
    );
    return rows[0]?.left ?? 0;
  };
  expect(await left()).toBeGreaterThan(500);
  await renewItems(connection, [{ holdId: reserve.holdId, service, sequence: 1, usage: usage(0), leaseMs: 3_000_000 }], 60_000);
  expect(await left()).toBeGreaterThan(2_900);
  await settle(reserve.holdId, 0);
});

test('the ceilings of a service are for all accounts together, and never exceeded', async () => {
  const other = await ledger.customer({ topup: 1_000n });
  const single = [ledger.newLanes({ times: TIMES }), ledger.newLanes({ times: TIMES })];
  const reserves = Array.from({ length: 60 }, (_, index) =>
    makeItem(1 + (index % 7), { dayMaxPicoUsd: '200', openHoldsMax: 40 }, index % 2 === 0 ? customer : other),
  );
  const outcomes = await Promise.all(
    reserves.map(async (reserve, index) => {
      const lane = single[index % 2] as HoldLanes;
      const outcome = await lane.reserve(reserve);
      if (outcome.status !== 'held' || index % 3 === 0) return outcome;
      const { holdId, accountId, item } = reserve;
      const ending = { holdId, accountId, service, reason: 'completed' as const, usage: usage((item?.quantityMax ?? 0) - (index % 2)) };
      await lane.settle(ending);
      return outcome;
    }),
  );
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'refused' ? [outcome.code] : []));
  expect(new Set(refused)).toEqual(new Set(['service_ceiling']));
  const { spent, held } = (await readUse()) as { spent: string; held: string };
  expect(BigInt(spent) + BigInt(held)).toBeLessThanOrEqual(200n);
  const isOpen = reserves.filter((_, index) => index % 3 === 0 && outcomes[index]?.status === 'held');
  for (const { holdId, accountId } of isOpen) await lanes.settle({ holdId, accountId, service, reason: 'released' });
  expect(await readUse()).toMatchObject({ held: '0', open_holds: 0 });
});

test('the refusal of a ceiling says what is used of it', async () => {
  const first = await hold(4, { openHoldsMax: 1, dayMaxPicoUsd: '20' });
  const reserve = makeItem(3, { openHoldsMax: 1 });
  expect(await lanes.reserve(reserve)).toEqual({
    ...{ status: 'refused', holdId: reserve.holdId, code: 'service_ceiling' },
    ceiling: { service, by: 'open-holds', openHoldsMax: 1, openHolds: 1 },
  });
  const larger = makeItem(3, { openHoldsMax: 2, dayMaxPicoUsd: '20' });
  expect(await lanes.reserve(larger)).toEqual({
    ...{ status: 'refused', holdId: larger.holdId, code: 'service_ceiling' },
    ceiling: { service, by: 'day', dayMaxPicoUsd: '20', spentPicoUsd: '0', heldPicoUsd: '12' },
  });
  await settle(first, 4);
  expect(await lanes.reserve({ ...makeItem(2, { dayMaxPicoUsd: '20' }) })).toMatchObject({ status: 'held' });
});

test('a renewal says stop when a child key of the chain that pays was revoked', async () => {
  const { accountId, keyId } = customer;
  await setBudget(ledger.prisma, { accountId, dimension: 'child', period: 'total', limitPicoUsd: '100' });
  const [one, other] = ['0000000000000001', '0000000000000002'].map((id) => `${Math.floor(Date.now() / 1_000) + 600}-${id}`) as [
    string,
    string,
  ];
  const reserves = [undefined, one, `${one}.${other}`, other].map((child) => ({
    ...makeItem(1),
    ...(child && { attribution: { child } }),
  }));
  for (const reserve of reserves) expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  const renew = async () => {
    const renewals = reserves.map(({ holdId }) => ({ holdId, service, sequence: 1, usage: usage(0) }));
    const renewed = await renewItems(connection, renewals, 60_000);
    return reserves.map(({ holdId }) => renewed.get(holdId));
  };
  expect(await renew()).toEqual([true, true, true, true]);
  await ledger.sql.query('UPDATE billing.api_key SET revoked_children = $2 WHERE id = $1', [keyId, [one]]);
  expect(await renew()).toEqual([true, false, false, true]);
  for (const { holdId } of reserves) await settle(holdId, 0);
});

test('what was spent on an earlier day does not count', async () => {
  const today = Date.now();
  const yesterday = today - 86_400_000;
  const at = async (now: number, quantity: number) => {
    const reserve = makeItem(quantity, { dayMaxPicoUsd: '15' });
    const { holdId, accountId } = reserve;
    const { outcomes } = await applyBatch(connection, { settles: [], reserves: [reserve] }, TIMES, now);
    if (outcomes.reserves[0]?.status === 'held') {
      const settle = { holdId, accountId, service, reason: 'completed' as const, usage: usage(quantity) };
      await applyBatch(connection, { settles: [settle], reserves: [] }, TIMES, now);
    }
    return outcomes.reserves[0];
  };
  expect(await at(yesterday, 5)).toMatchObject({ status: 'held' });
  expect(await at(yesterday, 1)).toMatchObject({ code: 'service_ceiling', ceiling: { by: 'day', spentPicoUsd: '15' } });
  expect(await at(today, 4)).toMatchObject({ status: 'held' });
  expect(await at(yesterday, 2)).toMatchObject({ code: 'service_ceiling', ceiling: { by: 'day', spentPicoUsd: '12' } }); // a clock that was set back
  expect(await readUse()).toEqual({ spent: '12', held: '0', open_holds: 0 });
  const listed = async (now: number) => (await listServices(ledger.prisma, now)).services.find((one) => one.service === service);
  const day = (at: number): string => new Date(Math.floor(at / 86_400_000) * 86_400_000).toISOString();
  const use = { service, heldPicoUsd: '0', openHolds: 0 };
  expect(await listed(today)).toEqual({ ...use, day: day(today), spentPicoUsd: '12' });
  expect(await listed(today + 86_400_000)).toEqual({ ...use, day: day(today + 86_400_000), spentPicoUsd: '0' });
});

test('what a late settlement gives back of an earlier day does not make room on the day of the settlement', async () => {
  const today = Date.now();
  const yesterday = today - 86_400_000;
  const ceilings = { dayMaxPicoUsd: '15' };
  const apply = async (batch: Parameters<typeof applyBatch>[1], now: number) => (await applyBatch(connection, batch, TIMES, now)).outcomes;
  const reserve = async (quantity: number, now: number) => {
    const item = makeItem(quantity, ceilings);
    const [outcome] = (await apply({ settles: [], reserves: [item] }, now)).reserves;
    return { ...item, outcome };
  };
  const end = (holdId: string, reason: 'completed' | 'lease-expired', quantity: number) => ({
    ...{ holdId, accountId: customer.accountId, service, reason },
    ...(reason === 'completed' && { usage: usage(quantity) }),
  });
  const charge = async (at: number): Promise<string> => {
    const { holdId } = await reserve(4, at);
    await renewItems(connection, [{ holdId, service, sequence: 1, usage: usage(4) }], 60_000);
    await ledger.sql.query('UPDATE billing.hold SET lease_until = to_timestamp($2) WHERE id = $1', [holdId, at / 1_000 - 60]);
    await apply({ settles: [end(holdId, 'lease-expired', 0)], reserves: [] }, at);
    return holdId;
  };
  const old = await charge(yesterday);
  const recent = await charge(today);
  expect(await readUse()).toEqual({ spent: '12', held: '0', open_holds: 0 });
  expect((await apply({ settles: [end(old, 'completed', 0)], reserves: [] }, today)).settles).toMatchObject([{ costPicoUsd: '0' }]);
  expect(await readUse()).toMatchObject({ spent: '12' });
  expect((await reserve(2, today)).outcome).toMatchObject({ code: 'service_ceiling' });
  await apply({ settles: [end(recent, 'completed', 1)], reserves: [] }, today);
  expect(await readUse()).toMatchObject({ spent: '3' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '997' });
});

test('two batches of different accounts take the ceilings of a service one after the other', async () => {
  const other = await ledger.customer({ topup: 1_000n });
  const waiting = await ledger.connect();
  await hold(1, { openHoldsMax: 2 }); // makes the row of the service
  await connection.query('BEGIN');
  await connection.query('SELECT FROM billing.service_use WHERE service = $1 FOR NO KEY UPDATE', [service]);
  const reserve = makeItem(1, { openHoldsMax: 2 }, other);
  const applied = applyBatch(waiting, { settles: [], reserves: [reserve] }, TIMES);
  await untilBlocked();
  await connection.query('UPDATE billing.service_use SET open_holds = 2 WHERE service = $1', [service]);
  await connection.query('COMMIT');
  const { outcomes } = await applied;
  await ledger.sql.query('UPDATE billing.service_use SET open_holds = 1 WHERE service = $1', [service]);
  expect(outcomes.reserves).toEqual([expect.objectContaining({ code: 'service_ceiling' })]);
});

async function untilBlocked(): Promise<void> {
  const blocked = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await ledger.sql.query<{ count: number }>(blocked)).rows[0]?.count === 0) await delay(10);
}
