import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { showRequest } from './show-request.js';

const TIMES = { leaseMs: 60_000, reaperGraceMs: 0 };

let lanes: HoldLanes;
let customer: Customer;
const ledger = await LedgerFixture.open();
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

/** Gives a hold a meter reading of prompt tokens, and ends its lease. */
async function readAndLose(holdId: string, promptTokens: number): Promise<void> {
  await ledger.sql.query(
    `UPDATE billing.hold SET meter_sequence = 1, meter_prompt_tokens = $2,
       lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`,
    [holdId, promptTokens],
  );
}

/** Opens a hold of `amount` that the reaper bills for 42 prompt tokens. */
async function reaped(amount: bigint): Promise<string> {
  const holdId = await hold(amount);
  await readAndLose(holdId, 42);
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

test('a quoted hold has its price and its amount, whoever ends it: the reaper, or a settlement after it', async () => {
  // A quote of an older price with a lower output cap: less than the request would hold today.
  const price = { version: 1, inputPicoUsd: '2', cachedInputPicoUsd: '1', outputPicoUsd: '3' };
  const reserve = { ...makeReserve(customer, 100n), price };
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  const { holdId } = reserve;
  await readAndLose(holdId, 42);
  const expire = { holdId, accountId: customer.accountId, reason: 'lease-expired' as const };
  expect(await lanes.settle(expire)).toEqual({ status: 'settled', holdId, costPicoUsd: '84' });
  expect(await settle(holdId, 70)).toEqual({ status: 'settled', holdId, costPicoUsd: '100' });
  const { settlement, ...shown } = await showRequest(ledger.prisma, `req-${holdId}`);
  expect({ price: shown.price, held: shown.heldPicoUsd, cost: settlement?.costPicoUsd, over: settlement?.overPicoUsd }).toEqual({
    ...{ price, held: '100', cost: '100', over: '40' },
  });
  expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '900', topup_held: '0', open_holds: 0 });
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
