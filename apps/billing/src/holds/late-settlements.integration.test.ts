import { randomUUID } from 'node:crypto';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { showRequest } from './show-request.js';

const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };

let ledger: LedgerFixture;
let lanes: HoldLanes;
let customer: Customer;
beforeAll(async () => {
  ledger = await LedgerFixture.open();
});
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000n });
  lanes = ledger.newLanes({ times: TIMES });
});
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

async function hold(amount: bigint): Promise<string> {
  const reserve = makeReserve(customer, amount);
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

/** Opens a hold of `amount` that the reaper bills for 42 prompt tokens. */
async function reaped(amount: bigint): Promise<string> {
  const holdId = await hold(amount);
  await ledger.sql.query(
    `UPDATE billing.hold SET meter_sequence = 1, meter_prompt_tokens = 42,
       lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`,
    [holdId],
  );
  const expire = { holdId, accountId: customer.accountId, reason: 'lease-expired' as const };
  expect(await lanes.settle(expire)).toEqual({ status: 'settled', holdId, costPicoUsd: '42' });
  return holdId;
}

const settle = (holdId: string, tokens: number) =>
  lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(tokens), upstream: 'local' });

test('a settlement after the reaper charges the difference to the reading, once, within the hold', async () => {
  const holdId = await reaped(100n);
  expect(await settle(holdId, 130)).toEqual({ status: 'settled', holdId, costPicoUsd: '100' });
  expect(await settle(holdId, 99)).toEqual({ status: 'already', holdId, costPicoUsd: '100' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '900', topup_held: '0', open_holds: 0 });
  expect(await showRequest(ledger.prisma, `req-${holdId}`)).toMatchObject({
    heldPicoUsd: '100',
    upstream: 'local',
    settlement: { reason: 'completed', costPicoUsd: '100', usage: makeUsage(130) },
  });
});

test('a settlement after the reaper that costs less returns the difference, once', async () => {
  const holdId = await reaped(100n);
  expect(await settle(holdId, 7)).toEqual({ status: 'settled', holdId, costPicoUsd: '7' });
  expect(await settle(holdId, 70)).toEqual({ status: 'already', holdId, costPicoUsd: '7' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '993', topup_held: '0', open_holds: 0 });
  expect(await showRequest(ledger.prisma, `req-${holdId}`)).toMatchObject({
    settlement: { reason: 'completed', costPicoUsd: '7', usage: makeUsage(7) },
  });
});

test('a request that failed without content is free, even after the reaper billed a reading', async () => {
  const holdId = await reaped(100n);
  const failed = { holdId, accountId: customer.accountId, reason: 'failed' as const };
  expect(await lanes.settle(failed)).toEqual({ status: 'settled', holdId, costPicoUsd: '0' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '1000' });
});

function grant(amount: bigint): Promise<unknown> {
  const endsAt = new Date(Date.now() + 3_600_000);
  return grantPlan(ledger.sql, { grantId: randomUUID(), accountId: customer.accountId, amount: picoUsd(amount), endsAt });
}

test('returned money goes to the top-up first, then to the plan it came from', async () => {
  await grant(30n);
  const holdId = await reaped(100n); // 30 of the plan, 12 of the top-up
  expect(await settle(holdId, 20)).toEqual({ status: 'settled', holdId, costPicoUsd: '20' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '1000', plan: '10' });
});

test('money that would go back to an ended plan is forfeited', async () => {
  await grant(30n);
  const holdId = await reaped(100n);
  await grant(500n);
  expect(await settle(holdId, 20)).toEqual({ status: 'settled', holdId, costPicoUsd: '20' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '1000', plan: '500' });
  const { rows } = await ledger.sql.query('SELECT due, plan_cost, topup_cost, forfeit FROM billing.late_settlement WHERE hold_id = $1', [
    holdId,
  ]);
  expect(rows).toEqual([{ due: '-22', plan_cost: '0', topup_cost: '-12', forfeit: '10' }]);
});

test('returned money pays for late settlements of the same batch', async () => {
  const [lower, higher] = [await reaped(100n), await reaped(1_000n - 42n)];
  const other = await hold(916n); // all that is free
  const single = ledger.newLanes({ times: TIMES, lanes: 1 });
  const common = { accountId: customer.accountId, reason: 'completed' as const };
  const outcomes = await Promise.all([
    single.settle({ ...common, holdId: higher, usage: makeUsage(80) }),
    single.settle({ ...common, holdId: lower, usage: makeUsage(2) }),
  ]);
  expect(outcomes.map(({ costPicoUsd }) => costPicoUsd)).toEqual(['80', '2']);
  await lanes.settle({ holdId: other, accountId: customer.accountId, reason: 'released' });
});

test('a late settlement writes off what other holds need: the balance is never negative', async () => {
  const holdId = await reaped(1_000n);
  const other = await hold(950n);
  expect(await settle(holdId, 500)).toEqual({ status: 'settled', holdId, costPicoUsd: '50' });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '950', topup_held: '950' });
  const { rows } = await ledger.sql.query('SELECT due, plan_cost, topup_cost, writeoff FROM billing.late_settlement WHERE hold_id = $1', [
    holdId,
  ]);
  expect(rows).toEqual([{ due: '458', plan_cost: '0', topup_cost: '8', writeoff: '450' }]);
  await lanes.settle({ holdId: other, accountId: customer.accountId, reason: 'released' });
});

test('in one batch settlements within their hold are charged before late ones', async () => {
  const late = await reaped(1_000n);
  const other = await hold(958n);
  const single = ledger.newLanes({ times: TIMES, lanes: 1 });
  const common = { accountId: customer.accountId, reason: 'completed' as const };
  expect(
    await Promise.all([
      single.settle({ ...common, holdId: late, usage: makeUsage(1_000) }),
      single.settle({ ...common, holdId: other, usage: makeUsage(950) }),
    ]),
  ).toEqual([
    { status: 'settled', holdId: late, costPicoUsd: '50' },
    { status: 'settled', holdId: other, costPicoUsd: '950' },
  ]);
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '0', topup_held: '0' });
});

test('two replicas settle a reaped hold late at once: one charges', async () => {
  const holdId = await reaped(500n);
  const other = ledger.newLanes({ times: TIMES });
  const settlement = (tokens: number) => ({
    holdId,
    accountId: customer.accountId,
    reason: 'completed' as const,
    usage: makeUsage(tokens),
  });
  const outcomes = await Promise.all([lanes.settle(settlement(100)), other.settle(settlement(200))]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['already', 'settled']);
  expect(new Set(outcomes.map(({ costPicoUsd }) => costPicoUsd)).size).toBe(1);
});
