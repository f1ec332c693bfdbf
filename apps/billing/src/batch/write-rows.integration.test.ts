import { randomUUID } from 'node:crypto';
import { LedgerFixture, makeUsage } from '../../test/ledger-fixture.js';
import type { BudgetState } from '../budgets/budget.js';
import type { AccountState, BatchRows, ProjectState, Settlement } from './batch.js';
import { writeRows } from './write-rows.js';

/** A batch that was decided from rows that do not exist writes nothing. */
const ledger = await LedgerFixture.open();
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const NOTHING: BatchRows = {
  accounts: [],
  projects: [],
  budgets: [],
  values: [],
  limits: [],
  services: [],
  opened: [],
  settled: [],
  late: [],
  tombstones: [],
  forfeits: [],
  events: [],
};
const FUNDS = { topup: 0n, topupHeld: 0n, plan: 0n, planHeld: 0n, expired: 0n, grant: null, creditLine: 0n };

const settlement: Settlement = {
  holdId: randomUUID(),
  accountId: randomUUID(),
  reason: 'completed',
  upstream: null,
  settledBy: null,
  cost: 0n,
  over: 0n,
  charge: { planCost: 0n, liveGrantId: null, endedCost: 0n, topupCost: 0n, forfeit: 0n },
  usage: makeUsage(1),
  metered: true,
};
const account: AccountState = { accountId: randomUUID(), active: true, openHolds: 0, funds: FUNDS };
const project: ProjectState = {
  projectId: randomUUID(),
  accountId: account.accountId,
  enabled: true,
  requestsPerMinuteMax: 1,
  concurrencyMax: 1,
  openHolds: 0,
  requestWindow: [],
};

const budget: BudgetState = {
  ...{
    budgetId: randomUUID(),
    accountId: account.accountId,
    projectId: null,
    keyId: null,
    period: 'total',
    timeZone: 'UTC',
    startDay: 1,
    unit: 'usd',
  },
  ...{
    limit: 1n,
    spent: 0n,
    held: 0n,
    thresholds: [],
    passed: 0,
    windowStart: Number.NEGATIVE_INFINITY,
    windowEnd: Number.POSITIVE_INFINITY,
  },
};

test.each([
  ['a hold to end', { settled: [settlement] }],
  ['an account', { accounts: [account] }],
  ['a project', { projects: [project] }],
  ['a budget', { budgets: [budget] }],
])('%s that is not there undoes the batch', async (_, rows) => {
  const connection = await ledger.connect();
  const tombstone = { holdId: randomUUID(), accountId: account.accountId, reason: 'released' as const };
  await connection.query('BEGIN');
  await expect(writeRows(connection, { ...NOTHING, tombstones: [tombstone], ...rows }, Date.now())).rejects.toMatchObject({
    code: 'P0004',
  });
  const { rowCount } = await ledger.sql.query('SELECT 1 FROM billing.settlement WHERE hold_id = $1', [tombstone.holdId]);
  expect(rowCount).toBe(0);
});
