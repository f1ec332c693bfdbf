import { randomUUID } from 'node:crypto';
import { picoUsd, renderUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { updateAccount } from '../accounts/accounts.js';
import { readBalance } from '../balance/read-balance.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { adjust } from './adjust.js';
import { refund } from './refund.js';
import { topUp } from './top-up.js';

const ledger = await LedgerFixture.open();
const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: 0 } });
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

/** Returns a customer with top-up money and a credit line. */
async function customerWith(topup: bigint, creditLine: bigint): Promise<Customer> {
  const customer = await ledger.customer({ topup });
  await setLine(customer, creditLine);
  return customer;
}

function setLine({ accountId }: Customer, creditLine: bigint) {
  return updateAccount(ledger.prisma, { accountId, creditLineUsd: renderUsd(picoUsd(creditLine)) });
}

async function hold(customer: Customer, amount: bigint): Promise<string> {
  const reserve = makeReserve(customer, amount);
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  return reserve.holdId;
}

function refusal(required: number, available: number) {
  const amounts = { requiredPicoUsd: String(required), availablePicoUsd: String(available) };
  return { status: 'refused', holdId: expect.any(String), code: 'insufficient_balance', ...amounts };
}

const settle = ({ accountId }: Customer, holdId: string, tokens: number) =>
  lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(tokens), upstream: 'local' });

const amounts = async ({ accountId }: Customer) => {
  const { topup, topup_held: held } = await ledger.account(accountId);
  return { topup, held };
};

test('200 parallel reserves from two replicas on a credit line for 10: exactly 10 held', async () => {
  const customer = await customerWith(0n, 1_000n);
  const replicas = [ledger.newLanes({ batchMax: 7 }), ledger.newLanes()];
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, (_, count) => (replicas[count % 2] as HoldLanes).reserve(makeReserve(customer, 100n))),
  );
  expect(outcomes.filter(({ status }) => status === 'held')).toHaveLength(10);
  expect(await amounts(customer)).toEqual({ topup: '0', held: '1000' });
});

test('the balance has the credit line, and its parts add up [balance-amounts]', async () => {
  const customer = await customerWith(0n, 500_000_000_000_000n);
  await settle(customer, await hold(customer, 3_000_000_000_001n), 1_000);
  await hold(customer, 7n);
  expect(await readBalance(ledger.prisma, customer.accountId)).toEqual({
    object: 'balance',
    currency: 'USD',
    balance_pico_usd: '499999999999000',
    balance_usd: '499.999999999',
    reserved_pico_usd: '7',
    available_pico_usd: '499999999998993',
    topup_balance_pico_usd: '-1000',
    plan_balance_pico_usd: '0',
    plan_expires_at: null,
    credit_line_pico_usd: '500000000000000',
    expiredHeld: '0',
  });
});

test('a debit may use the credit line, a refund never', async () => {
  const customer = await customerWith(100n, 50n);
  const { accountId } = customer;
  const debit = (amount: bigint) =>
    adjust(ledger.sql, { accountId, adjustmentId: randomUUID(), kind: 'debit', amount: picoUsd(amount), reason: 'a test' });
  await expect(refund(ledger.sql, { accountId, refundId: randomUUID(), amount: picoUsd(101n) })).rejects.toMatchObject({
    details: { requestedPicoUsd: '101', refundablePicoUsd: '100', freePicoUsd: '100' },
  });
  expect(await debit(120n)).toEqual({ adjusted: true, topup: -20n });
  await expect(debit(31n)).rejects.toMatchObject({ code: 'insufficient_balance', details: { requestedPicoUsd: '31', freePicoUsd: '30' } });
  await expect(refund(ledger.sql, { accountId, refundId: randomUUID(), amount: picoUsd(1n) })).rejects.toMatchObject({
    code: 'insufficient_balance',
    details: { requestedPicoUsd: '1', refundablePicoUsd: '100', freePicoUsd: '0' },
  });
});

test('a credit line is never less than what is used and held', async () => {
  const customer = await customerWith(100n, 50n);
  await settle(customer, await hold(customer, 110n), 110);
  const holdId = await hold(customer, 20n);
  await expect(setLine(customer, 29n)).rejects.toMatchObject({
    code: 'conflict',
    message: 'The credit line cannot be $0.000000000029: $0.00000000003 of it is used or held.',
    param: 'creditLineUsd',
    details: { requestedPicoUsd: '29', usedPicoUsd: '30' },
  });
  expect(await setLine(customer, 30n)).toMatchObject({ creditLinePicoUsd: '30' });
  expect(await lanes.reserve(makeReserve(customer, 1n))).toEqual(refusal(1, 0));
  await settle(customer, holdId, 0);
  await topUp(ledger.sql, { accountId: customer.accountId, amount: picoUsd(10n), paymentId: randomUUID() });
  expect(await setLine(customer, 0n)).toMatchObject({ creditLinePicoUsd: null });
});

test('a change is in force for the next request, also where the account is cached', async () => {
  const customer = await ledger.customer({ topup: 100n });
  const lane = ledger.newLanes({ lanes: 1 });
  for (let count = 0; count < 5; count++) await lane.reserve(makeReserve(customer, 20n));
  expect(await lane.reserve(makeReserve(customer, 1n))).toEqual(refusal(1, 0));
  await setLine(customer, 5n);
  expect(await lane.reserve(makeReserve(customer, 5n))).toMatchObject({ status: 'held' });
  expect(await lane.reserve(makeReserve(customer, 1n))).toEqual(refusal(1, 0));
});

test('a low balance has the credit line', async () => {
  const customer = await customerWith(100n, 50n);
  const { accountId } = customer;
  await ledger.sql.query('UPDATE billing.account SET low_balance = 20 WHERE id = $1', [accountId]);
  await settle(customer, await hold(customer, 130n), 130);
  const low = async () =>
    (await ledger.sql.query(`SELECT payload FROM billing.money_event WHERE account_id = $1 AND kind = 'balance-low'`, [accountId])).rows;
  expect(await low()).toEqual([]);
  await setLine(customer, 49n);
  expect(await low()).toEqual([{ payload: { balancePicoUsd: '19', lowBalancePicoUsd: '20' } }]);
});
