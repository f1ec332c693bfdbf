import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { PgConnection } from '#database/pg-connection.js';
import { picoUsd, renderUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { updateAccount } from '../accounts/accounts.js';
import { adjust } from './adjust.js';
import { freezeAccounts } from './freeze-accounts.js';
import { grantPlan } from './grant-plan.js';
import { refund } from './refund.js';
import { topUp } from './top-up.js';

const RECOUNT = readFileSync('scripts/prisma/recount-account.sql', 'utf8');
const RACERS = 8;
const ROUNDS = 20;

const ledger = await LedgerFixture.open();
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

type Operation = (connection: PgConnection, accountId: string, amount: bigint) => Promise<unknown>;

const SOON = new Date(Date.now() + 3_600_000);
const id = randomUUID;
const credit: Operation = (connection, accountId, amount) =>
  adjust(connection, { accountId, adjustmentId: id(), kind: 'credit', amount: picoUsd(amount), reason: 'a test' });
const debit: Operation = (connection, accountId, amount) =>
  adjust(connection, { accountId, adjustmentId: id(), kind: 'debit', amount: picoUsd(amount), reason: 'a test' });
const pay: Operation = (connection, accountId, amount) => topUp(connection, { accountId, amount: picoUsd(amount), paymentId: id() });
const giveBack: Operation = (connection, accountId, amount) => refund(connection, { accountId, refundId: id(), amount: picoUsd(amount) });
const grant: Operation = (connection, accountId, amount) =>
  grantPlan(connection, { grantId: id(), accountId, amount: picoUsd(amount), endsAt: SOON });
const freeze: Operation = (connection, accountId) => freezeAccounts(connection, new Map([[accountId, 'a test']]));
const unfreeze: Operation = (_, accountId) => updateAccount(ledger.prisma, { accountId, status: 'active' });
const giveCredit: Operation = (_, accountId, amount) =>
  updateAccount(ledger.prisma, { accountId, creditLineUsd: renderUsd(picoUsd(amount)) });
const takeCredit: Operation = (_, accountId) => updateAccount(ledger.prisma, { accountId, creditLineUsd: '0' });
const setThreshold: Operation = (_, accountId, amount) => updateAccount(ledger.prisma, { accountId, lowBalanceUsd: `0.${amount}` });
/** Runs with the owner's rights, as an operator does. */
const recount: Operation = (_, accountId) => ledger.sql.query(RECOUNT.replaceAll(`:'account'`, `'${accountId}'`));

describe('beside reserves and settles an operation succeeds or is refused with its figures, never an internal error', () => {
  test.each<[what: string, first: Operation, second: Operation]>([
    ['top-ups', pay, pay],
    ['debits and credits', debit, credit],
    ['refunds and top-ups', giveBack, pay],
    ['plan grants', grant, grant],
    ['freezing and making active', freeze, unfreeze],
    ['thresholds of a low balance', setThreshold, setThreshold],
    ['counting the account again', recount, debit],
    ['credit lines and debits', giveCredit, debit],
    ['credit lines that are given and taken', giveCredit, takeCredit],
  ])('%s', async (_, first, second) => {
    const customer = await ledger.customer({ topup: 10_000n });
    const traffic = runTraffic(customer);
    const connections = await Promise.all(Array.from({ length: RACERS }, () => ledger.connect()));
    const outcomes = await Promise.all(
      connections.map(async (connection, racer) => {
        const seen = [];
        for (let round = 0; round < ROUNDS; round++) {
          const operation = (racer + round) % 2 === 0 ? first : second;
          seen.push(await operation(connection, customer.accountId, 3_000n).then(() => 'done', readCode));
        }
        return seen;
      }),
    );
    await traffic.stop();
    expect(outcomes.flat().filter((outcome) => !['done', 'insufficient_balance', 'conflict'].includes(outcome))).toEqual([]);
    expect(await ledger.account(customer.accountId)).toMatchObject({ topup_held: '0', plan_held: '0', expired: '0', open_holds: 0 });
  });
});

describe('an operation that waits for the account decides on the state after the lock', () => {
  test('a debit sees money that arrived meanwhile', async () => {
    const { accountId } = await ledger.customer({ topup: 10n });
    expect(await whileLocked(accountId, (owner) => pay(owner, accountId, 90n), debit, 100n)).toEqual({ adjusted: true, topup: 0n });
  });

  test('a debit sees that money was taken meanwhile', async () => {
    const { accountId } = await ledger.customer({ topup: 100n });
    const debited = whileLocked(accountId, (owner) => debit(owner, accountId, 60n), debit, 41n);
    await expect(debited).rejects.toMatchObject({ code: 'insufficient_balance', details: { requestedPicoUsd: '41', freePicoUsd: '40' } });
  });

  test('a credit line is not taken that was used meanwhile', async () => {
    const { accountId } = await ledger.customer({ topup: 10n });
    await giveCredit(ledger.sql, accountId, 100n);
    const taken = whileLocked(accountId, (owner) => debit(owner, accountId, 50n), takeCredit, 0n);
    await expect(taken).rejects.toMatchObject({ code: 'conflict', details: { requestedPicoUsd: '0', usedPicoUsd: '40' } });
  });

  test('a refund sees money that arrived meanwhile', async () => {
    const { accountId } = await ledger.customer({ topup: 10n });
    const refunded = whileLocked(accountId, (owner) => pay(owner, accountId, 90n), giveBack, 100n);
    expect(await refunded).toEqual({ refunded: true, amount: 100n, topup: 0n });
  });

  test('a plan grant ends a grant that was made meanwhile', async () => {
    const { accountId } = await ledger.customer();
    const granted = await whileLocked(accountId, (owner) => grant(owner, accountId, 7n), grant, 5n);
    expect(granted).toMatchObject({ granted: true, plan: 5n, ended: { amount: 7n } });
  });

  test('a top-up adds to money that arrived meanwhile', async () => {
    const { accountId } = await ledger.customer({ topup: 10n });
    expect(await whileLocked(accountId, (owner) => pay(owner, accountId, 90n), pay, 1n)).toEqual({ credited: true, topup: 101n });
  });

  test('a freeze keeps the reason of one that was made meanwhile', async () => {
    const { accountId } = await ledger.customer();
    const first = (owner: PgConnection) =>
      owner.query(`UPDATE billing.account SET status = 'frozen', status_reason = 'first' WHERE id = $1`, [accountId]);
    expect(await whileLocked(accountId, first, freeze, 0n)).toEqual([]);
    const { rows } = await ledger.sql.query('SELECT status_reason FROM billing.account WHERE id = $1', [accountId]);
    expect(rows).toEqual([{ status_reason: 'first' }]);
  });
});

/** Reserves and settles of one customer on two replicas, until stopped. None may fail. */
function runTraffic(customer: Customer): { stop(): Promise<void> } {
  const replicas = [ledger.newLanes(), ledger.newLanes()];
  let running = true;
  const clients = Array.from({ length: 12 }, async (_, client) => {
    const lanes = replicas[client % replicas.length] as (typeof replicas)[number];
    while (running) {
      const reserve = makeReserve(customer, BigInt(100 + client * 20));
      const { status } = await lanes.reserve(reserve);
      const { holdId, accountId } = reserve;
      if (status === 'held') await lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(1) });
    }
  });
  return {
    stop: async () => {
      running = false;
      await Promise.all(clients);
    },
  };
}

/** Runs `operation` while another transaction has changed the account and not committed. Returns its result. */
async function whileLocked(
  accountId: string,
  change: (owner: PgConnection) => Promise<unknown>,
  operation: Operation,
  amount: bigint,
): Promise<unknown> {
  const connection = await ledger.connect();
  // The BEGIN and COMMIT of `change` are part of this transaction.
  const within = { query: (sql: string, values?: unknown[]) => ledger.sql.query(/^(BEGIN|COMMIT)$/.test(sql) ? 'SELECT' : sql, values) };
  await ledger.sql.query('BEGIN');
  await change(within as unknown as PgConnection);
  const outcome = operation(connection, accountId, amount);
  outcome.catch(() => undefined);
  while (!(await isOneWaiting())) await delay(5);
  await ledger.sql.query('COMMIT');
  return outcome;
}

async function isOneWaiting(): Promise<boolean> {
  // On another connection: inside a transaction the server answers with the activity of the first look.
  const rows = await ledger.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return rows.length > 0;
}

function readCode(error: { code?: string; message: string }): string {
  return error.code === 'P2010' ? error.message : (error.code ?? error.message); // the message has the code of the database
}
