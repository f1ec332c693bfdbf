import { randomUUID } from 'node:crypto';
import type { Caller } from '#contracts/audit.js';
import type { PgConnection } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { topUp } from '../ledger/top-up.js';

/** The database refuses the commit of a change without its audit row. */
const ledger = await LedgerFixture.open({ guarded: true });
const service = await ledger.connect();
afterAll(() => ledger.close());

const CALLER: Caller = { actor: 'cli/ann@host', actorName: null, via: 'cli', ip: null, requestId: null };
const record = (connection: PgConnection, target: string) =>
  connection.query(`SELECT billing.record_audit($1, 'test.change', NULL, $2, NULL, NULL, NULL)`, [CALLER, target]);

/** Returns the id of a row that does not exist. */
const other = (id: string): string => id.replace(/^./, (digit) => (digit === 'f' ? '0' : 'f'));

interface Change {
  constraint: string;
  target: (customer: Customer) => string;
  /** Makes the row that the change is of. */
  before?: (customer: Customer) => string;
  sql: (customer: Customer) => string;
}

const movementId = randomUUID();
const CHANGES: Record<string, Change> = {
  'a new account': {
    constraint: 'account_insert_is_audited',
    target: ({ accountId }) => `account/${other(accountId)}`,
    sql: ({ accountId }) => `INSERT INTO billing.account (id, name) VALUES ('${other(accountId)}', 'x')`,
  },
  'an account': {
    constraint: 'account_update_is_audited',
    target: ({ accountId }) => `account/${accountId}`,
    sql: ({ accountId }) => `UPDATE billing.account SET status = 'frozen' WHERE id = '${accountId}'`,
  },
  'a new project': {
    constraint: 'project_insert_is_audited',
    target: ({ projectId }) => `project/${other(projectId)}`,
    sql: ({ accountId, projectId }) =>
      `INSERT INTO billing.project (id, account_id, name, requests_per_minute_max, concurrency_max)
       VALUES ('${other(projectId)}', '${accountId}', 'x', 1, 1)`,
  },
  'a project': {
    constraint: 'project_update_is_audited',
    target: ({ projectId }) => `project/${projectId}`,
    sql: ({ projectId }) => `UPDATE billing.project SET requests_per_minute_max = 7 WHERE id = '${projectId}'`,
  },
  'the policy of a project': {
    constraint: 'project_policy_is_audited',
    target: ({ projectId }) => `project/${projectId}`,
    sql: ({ projectId }) => `UPDATE billing.project SET policy = '{}' WHERE id = '${projectId}'`,
  },
  'a new key': {
    constraint: 'api_key_insert_is_audited',
    target: ({ keyId }) => `key/${other(keyId)}`,
    sql: ({ projectId, keyId }) =>
      `INSERT INTO billing.api_key (id, project_id, digest, last_four)
       VALUES ('${other(keyId)}', '${projectId}', sha256('${keyId}'), 'abcd')`,
  },
  'a key': {
    constraint: 'api_key_update_is_audited',
    target: ({ keyId }) => `key/${keyId}`,
    sql: ({ keyId }) => `UPDATE billing.api_key SET revoked_at = now() WHERE id = '${keyId}'`,
  },
  'the end of a key': {
    constraint: 'api_key_update_is_audited',
    target: ({ keyId }) => `key/${keyId}`,
    sql: ({ keyId }) => `UPDATE billing.api_key SET expires_at = now() WHERE id = '${keyId}'`,
  },
  'a new budget': {
    constraint: 'budget_insert_is_audited',
    target: ({ accountId }) => `budget/${other(accountId)}`,
    sql: ({ accountId }) => addBudget(other(accountId), accountId),
  },
  'the limit of a budget': {
    constraint: 'budget_update_is_audited',
    target: ({ accountId }) => `budget/${accountId}`,
    before: ({ accountId }) => addBudget(accountId, accountId),
    sql: ({ accountId }) => `UPDATE billing.budget SET limit_amount = 2 WHERE account_id = '${accountId}'`,
  },
  'a movement': {
    constraint: 'movement_is_audited',
    target: () => `movement/${movementId}`,
    sql: ({ accountId }) =>
      `INSERT INTO billing.movement (id, account_id, kind, amount, idempotency_key)
       VALUES ('${movementId}', '${accountId}', 'topup', 1, 'topup:${movementId}')`,
  },
};

function addBudget(budgetId: string, accountId: string): string {
  return `INSERT INTO billing.budget (id, account_id, period, time_zone, limit_amount, spent, held, window_start, window_end)
    VALUES ('${budgetId}', '${accountId}', 'total', 'UTC', 1, 0, 0, '-infinity', 'infinity')`;
}

describe.each(Object.entries(CHANGES))('%s', (_, { constraint, target, before, sql }) => {
  /** Runs the change and other statements in one transaction, then undoes a commit that was accepted. */
  async function commit(...others: (() => Promise<unknown>)[]): Promise<void> {
    await service.query('BEGIN');
    await service.query(sql(customer));
    for (const statement of others) await statement();
    await service.query('COMMIT');
  }
  let customer: Customer;
  beforeEach(async () => {
    customer = await ledger.customer();
    if (before === undefined) return;
    await service.query('BEGIN');
    await service.query(before(customer));
    await record(service, target(customer));
    await service.query('COMMIT');
  });

  test('is refused without an audit row of the same transaction that names it', async () => {
    const refusal = { code: '23514', constraint };
    await expect(commit()).rejects.toMatchObject(refusal);
    await expect(commit(() => record(service, `account/${randomUUID()}`))).rejects.toMatchObject(refusal);
    await record(service, target(customer));
    await expect(commit()).rejects.toMatchObject(refusal);
  });

  test('is accepted with it, and without the trigger', async () => {
    await ledger.sql.query('BEGIN');
    await ledger.sql.query(`DROP TRIGGER ${constraint} ON billing.${constraint.replace(/(_insert|_update|_policy)?_is_audited/, '')}`);
    await ledger.sql.query(sql(customer));
    await ledger.sql.query('SET CONSTRAINTS ALL IMMEDIATE');
    await ledger.sql.query('ROLLBACK');
    await commit(() => record(service, target(customer)));
  });
});

test('batches of requests never call a guard', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId } = customer;
  const endsAt = new Date(Date.now() + 3_600_000);
  await grantPlan(service, { grantId: randomUUID(), accountId, amount: picoUsd(50n), endsAt });
  await ledger.sql.query(
    `CREATE OR REPLACE FUNCTION billing.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a guard was called'; END $$`,
  );
  await expect(topUp(service, { accountId, amount: picoUsd(1n), paymentId: randomUUID() })).rejects.toThrow('a guard was called');
  const lanes = ledger.newLanes();
  // The second batch is decided from memory.
  for (let count = 0; count < 3; count++) {
    const reserve = makeReserve(customer, 30n);
    expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
    expect(await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(10) })).toMatchObject({
      status: 'settled',
    });
  }
});
