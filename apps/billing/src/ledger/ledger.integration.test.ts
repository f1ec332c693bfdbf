import { randomUUID } from 'node:crypto';
import { picoUsd } from '#money/pico-usd.js';
import type { Customer } from '../../test/ledger-fixture.js';
import { LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { readBalance } from '../balance/read-balance.js';
import { grantPlan } from './grant-plan.js';
import { MoneyOperations } from './money-operations.js';
import { topUp } from './top-up.js';

let clock: number;
const ledger = await LedgerFixture.open();
beforeEach(() => {
  clock = Date.now();
});
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const SOON = 3_600_000;

async function grant(customer: Customer, amount: bigint, endsAt = new Date(clock + SOON)): Promise<string> {
  const grantId = randomUUID();
  await grantPlan(ledger.sql, { grantId, accountId: customer.accountId, amount: picoUsd(amount), endsAt });
  return grantId;
}

test('the balance is exact to 38 digits, and adds up [balance-amounts]', async () => {
  const customer = await ledger.customer({ topup: 123_456_789_012_345_678_901_234_567_890n });
  const endsAt = new Date(clock + SOON);
  await grant(customer, 1_000_000_000_001n, endsAt);
  const lanes = ledger.newLanes();
  await lanes.reserve(makeReserve(customer, 1_000_000_000_008n));
  expect(await readBalance(ledger.prisma, customer.accountId)).toEqual({
    object: 'balance',
    currency: 'USD',
    balance_pico_usd: '123456789012345679901234567891',
    balance_usd: '123456789012345679.901234567891',
    reserved_pico_usd: '1000000000008',
    available_pico_usd: '123456789012345678901234567883',
    topup_balance_pico_usd: '123456789012345678901234567890',
    plan_balance_pico_usd: '1000000000001',
    plan_expires_at: endsAt.toISOString(),
    expiredHeld: '0',
  });
});

test('an empty account has zeros and no plan [balance-no-plan]', async () => {
  const { accountId } = await ledger.customer();
  expect(await readBalance(ledger.prisma, accountId)).toEqual({
    object: 'balance',
    currency: 'USD',
    balance_pico_usd: '0',
    balance_usd: '0.00',
    reserved_pico_usd: '0',
    available_pico_usd: '0',
    topup_balance_pico_usd: '0',
    plan_balance_pico_usd: '0',
    plan_expires_at: null,
    expiredHeld: '0',
  });
  await expect(readBalance(ledger.prisma, randomUUID())).rejects.toMatchObject({ code: 'not_found', param: 'accountId' });
});

test('burn order: the plan first, then the top-up, at the hold and again at the settle', async () => {
  const customer = await ledger.customer({ topup: 100n });
  await grant(customer, 50n);
  const lanes = ledger.newLanes();
  const { accountId } = customer;
  const reserve = makeReserve(customer, 80n);
  await lanes.reserve(reserve);
  expect(await ledger.account(accountId)).toMatchObject({ topup_held: '30', plan_held: '50' });
  await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(60) });
  expect(await ledger.account(accountId)).toEqual({ topup: '90', topup_held: '0', plan: '0', plan_held: '0', expired: '0', open_holds: 0 });
});

test('a plan that ends under open holds serves them to their end; their unused part is forfeited', async () => {
  const customer = await ledger.customer({ topup: 100n });
  const grantId = await grant(customer, 50n);
  const lanes = ledger.newLanes({ now: () => clock });
  const { accountId } = customer;
  const [small, big, unused] = [makeReserve(customer, 20n), makeReserve(customer, 60n), makeReserve(customer, 10n)];
  for (const reserve of [small, big, unused]) await lanes.reserve(reserve); // plan parts: 20, 30, 0
  clock += SOON;
  await lanes.sweep(accountId);
  expect(await ledger.account(accountId)).toEqual({
    topup: '100',
    topup_held: '40',
    plan: '0',
    plan_held: '0',
    expired: '50',
    open_holds: 3,
  });
  const settle = (holdId: string, tokens: number) => lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(tokens) });
  expect(await settle(small.holdId, 5)).toMatchObject({ costPicoUsd: '5' }); // from the ended plan; 15 forfeited
  expect(await settle(big.holdId, 45)).toMatchObject({ costPicoUsd: '45' }); // 30 from the ended plan, 15 from the top-up
  expect(await settle(unused.holdId, 10)).toMatchObject({ costPicoUsd: '10' });
  expect(await ledger.account(accountId)).toEqual({ topup: '75', topup_held: '0', plan: '0', plan_held: '0', expired: '0', open_holds: 0 });
  const { rows } = await ledger.sql.query(
    'SELECT plan_cost, ended_cost, topup_cost, forfeit FROM billing.settlement WHERE grant_id = $1 ORDER BY held',
    [grantId],
  );
  expect(rows).toEqual([
    { plan_cost: '0', ended_cost: '5', topup_cost: '0', forfeit: '15' },
    { plan_cost: '0', ended_cost: '30', topup_cost: '15', forfeit: '0' },
  ]);
});

test('an expired plan is in no balance and pays for nothing, even before the sweep [balance-plan]', async () => {
  const customer = await ledger.customer({ topup: 100n });
  await grant(customer, 50n, new Date(clock - 1));
  expect(await readBalance(ledger.prisma, customer.accountId)).toMatchObject({
    balance_pico_usd: '100',
    available_pico_usd: '100',
    plan_balance_pico_usd: '0',
    plan_expires_at: null,
  });
  const lanes = ledger.newLanes();
  expect(await lanes.reserve(makeReserve(customer, 101n))).toMatchObject({ code: 'insufficient_balance', availablePicoUsd: '100' });
  const { rows } = await ledger.sql.query(`SELECT amount FROM billing.movement WHERE account_id = $1 AND kind = 'forfeit'`, [
    customer.accountId,
  ]);
  expect(rows).toEqual([{ amount: '50' }]);
});

test('a new grant replaces the former one, which stays with the holds made under it', async () => {
  const customer = await ledger.customer();
  await grant(customer, 50n);
  const lanes = ledger.newLanes();
  const { accountId } = customer;
  const reserve = makeReserve(customer, 20n);
  await lanes.reserve(reserve);
  await grant(customer, 70n);
  expect(await readBalance(ledger.prisma, accountId)).toMatchObject({ balance_pico_usd: '70', reserved_pico_usd: '0', expiredHeld: '20' });
  await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(5) });
  expect(await ledger.account(accountId)).toEqual({ topup: '0', topup_held: '0', plan: '70', plan_held: '0', expired: '0', open_holds: 0 });
});

test('a payment is credited once, however often it is sent', async () => {
  const { accountId } = await ledger.customer();
  const payment = { accountId, amount: picoUsd(500n), paymentId: randomUUID() };
  const second = await ledger.connect();
  const answers = await Promise.all(Array.from({ length: 10 }, (_, count) => topUp(count % 2 ? ledger.sql : second, payment)));
  expect(answers.filter(({ credited }) => credited)).toHaveLength(1);
  expect(await ledger.account(accountId)).toMatchObject({ topup: '500' });
  await expect(topUp(ledger.sql, { ...payment, amount: picoUsd(501n) })).rejects.toMatchObject({ code: 'conflict' });
  await expect(topUp(ledger.sql, { ...payment, accountId: (await ledger.customer()).accountId })).rejects.toMatchObject({
    code: 'conflict',
  });
  await expect(topUp(ledger.sql, { ...payment, accountId: randomUUID() })).rejects.toMatchObject({ code: 'not_found' });
});

test('dollars become pico-USD exactly; a grant key is granted once; invalid amounts are refused', async () => {
  const { accountId } = await ledger.customer();
  const operations = new MoneyOperations((work) => work(ledger.sql));
  expect(await operations.topUp({ accountId, usd: '0.1', paymentId: randomUUID() }, OWN_AUTHOR)).toEqual({
    accountId,
    credited: true,
    topupBalancePicoUsd: '100000000000',
  });
  const expiresAt = new Date(clock + SOON).toISOString();
  const request = { accountId, usd: '20.00', expiresAt, grantKey: '2026-11' };
  const granted = await operations.grant(request, OWN_AUTHOR);
  expect(granted).toEqual({ accountId, grantId: expect.any(String), granted: true, planBalancePicoUsd: '20000000000000', expiresAt });
  expect(await operations.grant(request, OWN_AUTHOR)).toEqual({ ...granted, granted: false });
  await expect(operations.grant({ ...request, usd: '21' }, OWN_AUTHOR)).rejects.toMatchObject({ code: 'conflict', param: 'grantKey' });
  await expect(operations.grant({ ...request, expiresAt: '2020-01-01' }, OWN_AUTHOR)).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'expiresAt',
  });
  await expect(operations.topUp({ accountId, usd: '0.00', paymentId: 'zero' }, OWN_AUTHOR)).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'usd',
  });
});

test.each([
  ['UPDATE billing.settlement SET cost = 0'],
  ['DELETE FROM billing.settlement'],
  ['TRUNCATE billing.settlement CASCADE'],
  ['UPDATE billing.movement SET amount = 0'],
  ['DELETE FROM billing.movement'],
  ['TRUNCATE billing.movement'],
])('the database refuses: %s', async (sql) => {
  await expect(ledger.sql.query(sql)).rejects.toMatchObject({ code: '23001' });
});
