import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connectPg } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { adjust } from './adjust.js';
import { creditNote } from './credit-note.js';
import { grantPlan } from './grant-plan.js';
import { refund } from './refund.js';

const RECOUNT = readFileSync('scripts/prisma/recount-account.sql', 'utf8');

const ledger = await LedgerFixture.open();
const owner = await connectPg({ url: ledger.ownerUrl, applicationName: 'test-owner' });
afterAll(async () => {
  await owner.end();
  await ledger.close();
});

/** Substitutes the variable as `psql -v account=<id>` does. */
async function recount(accountId: string): Promise<void> {
  await owner.query(RECOUNT.replaceAll(`:'account'`, `'${accountId}'`));
}

async function readRows(accountId: string): Promise<unknown> {
  const { rows } = await owner.query(
    `SELECT a.topup, a.topup_held, a.plan, a.plan_held, a.expired, a.grant_id, a.grant_ends_at, a.open_holds, p.open_holds AS of_project
     FROM billing.account a JOIN billing.project p ON p.account_id = a.id WHERE a.id = $1`,
    [accountId],
  );
  return rows;
}

/**
 * Makes a customer with payments, a refund, an adjustment, an ended plan that a hold still uses, a live one, requests settled, late and
 * open, and a credit note.
 */
async function busyCustomer(): Promise<Customer> {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId } = customer;
  const grant = (amount: bigint) =>
    grantPlan(ledger.sql, { grantId: randomUUID(), accountId, amount: picoUsd(amount), endsAt: new Date(Date.now() + 3_600_000) });
  await refund(ledger.sql, { accountId, refundId: randomUUID(), amount: picoUsd(10n) });
  await adjust(ledger.sql, { accountId, adjustmentId: randomUUID(), kind: 'credit', amount: picoUsd(5n), reason: 'test' });
  await grant(100n);
  const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: -120_000 } });
  await lanes.reserve(makeReserve(customer, 70n)); // open, of the plan that ends
  await grant(200n);
  const [settled, late] = [makeReserve(customer, 120n), makeReserve(customer, 30n)];
  for (const reserve of [settled, late, makeReserve(customer, 150n)]) await lanes.reserve(reserve);
  await lanes.settle({ holdId: settled.holdId, accountId, reason: 'completed', usage: makeUsage(110) });
  await lanes.settle({ holdId: late.holdId, accountId, reason: 'lease-expired' });
  await lanes.settle({ holdId: late.holdId, accountId, reason: 'completed', usage: makeUsage(7) });
  await creditNote(ledger.sql, { requestId: settled.requestId, noteId: randomUUID(), amount: picoUsd(9n), reason: 'test' });
  return customer;
}

test.each([
  ['a balance', 'UPDATE billing.account SET topup = topup + 1 WHERE id = $1'],
  ['a plan', 'UPDATE billing.account SET plan = plan - 1 WHERE id = $1'],
  ['a plan that is gone', 'UPDATE billing.account SET plan = 0, plan_held = 0, grant_id = NULL, grant_ends_at = NULL WHERE id = $1'],
  ['held money', 'UPDATE billing.account SET topup_held = topup_held + 1, plan_held = plan_held - 1, expired = expired + 7 WHERE id = $1'],
  ['open holds', 'UPDATE billing.account SET open_holds = open_holds + 1 WHERE id = $1'],
  ['open holds of a project', 'UPDATE billing.project SET open_holds = open_holds + 1 WHERE account_id = $1'],
])('the recount restores a wrong %s from the journals', async (_, damage) => {
  const { accountId } = await busyCustomer();
  const before = await readRows(accountId);
  await owner.query(damage, [accountId]);
  expect(await ledger.violations()).not.toEqual([]);
  await recount(accountId);
  expect({ rows: await readRows(accountId), violations: await ledger.violations() }).toEqual({ rows: before, violations: [] });
});

test('the recount leaves an account that is correct, new or without a plan', async () => {
  for (const { accountId } of [await busyCustomer(), await ledger.customer(), await ledger.customer({ topup: 5n })]) {
    const before = await readRows(accountId);
    await recount(accountId);
    expect(await readRows(accountId)).toEqual(before);
  }
});

test('an adjustment does not repair a balance: it changes the journal as well', async () => {
  const { accountId } = await ledger.customer({ topup: 100n });
  await owner.query('UPDATE billing.account SET topup = topup + 1 WHERE id = $1', [accountId]);
  await adjust(ledger.sql, { accountId, adjustmentId: randomUUID(), kind: 'debit', amount: picoUsd(1n), reason: 'repair' });
  expect((await ledger.violations()).map(({ invariant }) => invariant)).toEqual(['I2', 'I6']);
  await recount(accountId);
  expect(await ledger.violations()).toEqual([]);
});
