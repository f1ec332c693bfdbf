import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { LedgerCheckReply } from '#contracts/billing/ledger.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { MONTHS_RULE } from '../journal/month-faults.js';
import { RECEIPTS_RULE } from '../journal/receipt-faults.js';
import { Auditor, type AuditorOptions } from './auditor.js';
import { checkLedger } from './check-ledger.js';
import { grantPlan } from './grant-plan.js';
import { INVARIANTS } from './invariants.js';
import { refund } from './refund.js';
import { makeFullScope } from './scope.js';

const OVERDUE_MS = 90_000;
const WAITING = `SELECT FROM pg_stat_activity WHERE application_name = 'test-auditor' AND datname = current_database() AND wait_event_type = 'Lock'`;

const auditors: Auditor[] = [];
const ledger = await LedgerFixture.open();
/** Connection of the owner, with more rights than a service. */
const owner = await connectPg({ url: ledger.ownerUrl, applicationName: 'test-owner' });
afterEach(() => Promise.all(auditors.splice(0).map((auditor) => auditor.stop())));
afterAll(async () => {
  await owner.end();
  await ledger.close();
});

function newAuditor(options: Partial<AuditorOptions> = {}): Auditor {
  const connect = () => connectPg({ url: ledger.url, applicationName: 'test-auditor' });
  const auditor = new Auditor({ connect, overdueMs: OVERDUE_MS, intervalMs: 60_000, logger: ledger.logger, ...options });
  auditors.push(auditor);
  return auditor;
}

/** Makes a customer with payments, a refund, a plan, an open hold, a settled one and one that was settled late. */
async function busyCustomer(): Promise<Customer & { grantId: string; open: string; settled: string; late: string }> {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId } = customer;
  const grantId = randomUUID();
  await grantPlan(ledger.sql, { grantId, accountId, amount: picoUsd(100n), endsAt: new Date(Date.now() + 3_600_000) });
  await refund(ledger.sql, { accountId, refundId: randomUUID(), amount: picoUsd(10n) });
  const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: -120_000 } });
  const [open, settled, late] = [makeReserve(customer, 50n), makeReserve(customer, 120n), makeReserve(customer, 30n)];
  for (const reserve of [open, settled, late]) await lanes.reserve(reserve);
  await lanes.settle({ holdId: settled.holdId, accountId, reason: 'completed', usage: makeUsage(110) });
  await lanes.settle({ holdId: late.holdId, accountId, reason: 'lease-expired' });
  await lanes.settle({ holdId: late.holdId, accountId, reason: 'completed', usage: makeUsage(7) });
  return { ...customer, grantId, open: open.holdId, settled: settled.holdId, late: late.holdId };
}

/** Returns the result of a check after statements that triggers and constraints would refuse, and undoes them. */
async function checkAfter(statements: string[]): Promise<LedgerCheckReply> {
  await owner.query('BEGIN');
  try {
    await tamper(statements);
    const query = (text: string, values?: unknown[]) =>
      /^(BEGIN|COMMIT|ROLLBACK)/.test(text) ? Promise.resolve() : owner.query(text, values);
    return await checkLedger({ query } as unknown as PgConnection, OVERDUE_MS);
  } finally {
    await owner.query('ROLLBACK');
  }
}

async function tamper(statements: string[]): Promise<void> {
  await owner.query('SET session_replication_role = replica');
  for (const statement of statements) await owner.query(statement);
  await owner.query('SET session_replication_role = DEFAULT');
}

test('a correct ledger: counts, and no violation', async () => {
  const before = await checkLedger(ledger.sql, OVERDUE_MS);
  await busyCustomer();
  const report = await checkLedger(ledger.sql, OVERDUE_MS);
  const added = { accounts: 1, projects: 1, grants: 1, movements: 3, openHolds: 1, settlements: 2, lateSettlements: 1, auditEntries: 6 };
  const expected = Object.entries(added).map(([kind, count]) => [kind, count + before.checked[kind as keyof typeof added]]);
  expect(report).toEqual({
    checkedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    milliseconds: expect.any(Number),
    checked: Object.fromEntries(expected),
    auditDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    full: false,
    monthDigest: '',
    invariants: [...INVARIANTS, MONTHS_RULE, RECEIPTS_RULE].map(({ id, rule }) => ({ id, rule, violations: 0 })),
    violations: [],
  });
});

describe('each invariant detects its violation', () => {
  type Busy = Awaited<ReturnType<typeof busyCustomer>>;
  const cases: [id: string, what: string, sql: (customer: Busy) => string[]][] = [
    [
      'I1',
      'held money without a hold',
      ({ accountId }) => [`UPDATE billing.account SET topup_held = topup_held + 1 WHERE id = '${accountId}'`],
    ],
    ['I1', 'a hold that is not counted', ({ accountId }) => [`UPDATE billing.account SET open_holds = 0 WHERE id = '${accountId}'`]],
    ['I2', 'top-up money from nowhere', ({ accountId }) => [`UPDATE billing.account SET topup = topup + 1 WHERE id = '${accountId}'`]],
    ['I2', 'a charge that is gone', ({ settled }) => [`DELETE FROM billing.settlement WHERE hold_id = '${settled}'`]],
    ['I3', 'plan money from nowhere', ({ accountId }) => [`UPDATE billing.account SET plan = plan + 1 WHERE id = '${accountId}'`]],
    ['I4', 'a hold that is open and settled', ({ open, settled }) => [`UPDATE billing.hold SET id = '${settled}' WHERE id = '${open}'`]],
    ['I5', 'a project that counts wrong', ({ projectId }) => [`UPDATE billing.project SET open_holds = 7 WHERE id = '${projectId}'`]],
    ['I6', 'a settlement that is gone', ({ settled }) => [`DELETE FROM billing.settlement WHERE hold_id = '${settled}'`]],
    [
      'I6',
      'a movement that is gone',
      ({ accountId }) => [`DELETE FROM billing.movement WHERE kind = 'grant' AND account_id = '${accountId}'`],
    ],
    [
      'I7',
      'a hold that is open for ever',
      ({ open }) => [`UPDATE billing.hold SET lease_until = now() - interval '2 minutes' WHERE id = '${open}'`],
    ],
    [
      'I8',
      'a window that runs backwards',
      ({ projectId }) => [`UPDATE billing.project SET request_window = '[[2,1],[1,1]]' WHERE id = '${projectId}'`],
    ],
    [
      'I8',
      'a window that counts nothing',
      ({ projectId }) => [`UPDATE billing.project SET request_window = '[[2,0]]' WHERE id = '${projectId}'`],
    ],
    [
      'I9',
      'a cost that is not the usage',
      ({ settled }) => [`UPDATE billing.settlement SET output_tokens = 1 WHERE hold_id = '${settled}'`],
    ],
    [
      'I9',
      'a late cost that is not the usage',
      ({ late }) => [`UPDATE billing.late_settlement SET prompt_tokens = 8 WHERE hold_id = '${late}'`],
    ],
    [
      'I10',
      'a late settlement of a hold that was settled',
      ({ late }) => [`UPDATE billing.settlement SET reason = 'completed' WHERE hold_id = '${late}'`],
    ],
    [
      'I10',
      'plan money given back to the top-up',
      ({ late, grantId }) => [
        `UPDATE billing.settlement SET cost = 5, plan_cost = 5, live_grant_id = '${grantId}', prompt_tokens = 5 WHERE hold_id = '${late}'`,
        `UPDATE billing.late_settlement SET billed = 5, due = -1, plan_cost = 0, topup_cost = -1, prompt_tokens = 4 WHERE hold_id = '${late}'`,
      ],
    ],
    [
      'I11',
      'more refunded than was topped up',
      ({ accountId }) => [`UPDATE billing.movement SET amount = 1001 WHERE kind = 'refund' AND account_id = '${accountId}'`],
    ],
    [
      'I11',
      'more of a top-up than it was',
      ({ accountId }) => [
        `UPDATE billing.movement SET refund_of = (SELECT id FROM billing.movement WHERE kind = 'grant' AND account_id = '${accountId}') WHERE kind = 'refund' AND account_id = '${accountId}'`,
      ],
    ],
    ['I12', 'usage by hour that is in no journal', (customer) => [usageRow('hour', customer)]],
    ['I12', 'usage by day that is in no hour', (customer) => [usageRow('day', customer)]],
    [
      'I13',
      'a changed audit row',
      ({ accountId }) => [`UPDATE billing.audit SET actor = 'other' WHERE account_id = '${accountId}' AND action = 'refund.create'`],
    ],
    ['I14', 'a budget that holds what no request holds', (customer) => [budgetRow(customer, 'day', 'now()', { held: '1' })]],
    ['I14', 'a budget that has spent what no request cost', (customer) => [budgetRow(customer, 'day', 'now()', { spent: '1' })]],
    [
      'I14',
      'a total that misses a cost',
      (customer) => [
        budgetRow(customer, 'total', `'-infinity'`, {
          held: `(SELECT sum(amount) FROM billing.hold WHERE account_id = '${customer.accountId}')`,
        }),
      ],
    ],
    ['I14', 'a total of tokens that misses some', (customer) => [budgetRow(customer, 'total', `'-infinity'`, { unit: 'tokens' })]],
    ['I16', 'a rate limit without an open hold of its key', (customer) => [limitRow(customer, 0, '[]')]],
    ['I16', 'a window of tokens that counts none', (customer) => [limitRow(customer, 1, '[[1,0]]')]],
    [
      'I16',
      'a window of a model that counts none',
      (customer) => [
        limitRow(customer, 1, '[]'),
        `UPDATE billing.rate_limit SET model_windows = '{"gpt-*": {"requests": [[1,0]], "tokens": []}}'`,
      ],
    ],
    ['I17', 'a user that has spent what no request cost', (customer) => [userBudget(customer, `('alice', 1, 0)`)]],
    ['I17', 'a user that holds what no request holds', (customer) => [userBudget(customer, `('alice', 0, 1)`)]],
    [
      'I17',
      'a budget of users that misses a hold',
      (customer) => [
        userBudget(customer, `('bob', 0, 0)`),
        `UPDATE billing.hold SET attribution = '{"user": "alice"}' WHERE account_id = '${customer.accountId}'`,
      ],
    ],
    ['I18', 'more given back than a request cost', ({ accountId, settled }) => [noteRow(accountId, settled, 1_000)]],
    [
      'I18',
      'a credit note for the bill of the reaper',
      ({ accountId, late }) => [noteRow(accountId, late, 1), `DELETE FROM billing.late_settlement WHERE hold_id = '${late}'`],
    ],
    ['I19', 'a hold of an item that is not open', () => [`INSERT INTO billing.service_use (service, open_holds) VALUES ('x', 1)`]],
  ];
  const noteRow = (accountId: string, holdId: string, amount: number): string =>
    `INSERT INTO billing.movement (account_id, kind, amount, note_of, reason, idempotency_key)
     VALUES ('${accountId}', 'credit-note', ${amount}, '${holdId}', 'test', gen_random_uuid())`;
  const limitRow = ({ accountId, projectId, keyId }: Customer, openHolds: number, tokens: string): string =>
    `INSERT INTO billing.rate_limit (id, account_id, project_id, key_id, tokens_per_minute_max, open_holds, token_window)
     VALUES ('${keyId}', '${accountId}', '${projectId}', '${keyId}', 1, ${openHolds}, '${tokens}')`;
  const budgetRow = ({ accountId }: Customer, period: string, start: string, { spent = '0', held = '0', unit = 'usd' }): string =>
    `INSERT INTO billing.budget (unit, id, account_id, period, time_zone, limit_amount, spent, held, window_start, window_end)
     VALUES ('${unit}', gen_random_uuid(), '${accountId}', '${period}', 'UTC', 1, ${spent}, ${held}, ${start}, 'infinity')`;
  const userBudget = ({ accountId }: Customer, values: string): string =>
    `WITH budget AS (
       INSERT INTO billing.budget (id, account_id, dimension, thresholds, period, time_zone, limit_amount, spent, held, window_start, window_end)
       VALUES (gen_random_uuid(), '${accountId}', 'user', '{}', 'total', 'UTC', 1, 0, 0, '-infinity', 'infinity') RETURNING *)
     INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
     SELECT id, account_id, window_end, counted.* FROM budget, (VALUES ${values}) AS counted (value, spent, held)`;
  const usageRow = (unit: 'hour' | 'day', { accountId, projectId, keyId }: Customer): string =>
    `INSERT INTO billing.usage_${unit} VALUES ('${accountId}', '2026-03-02', '${projectId}', '${keyId}', 'sim-fast', '', 'completed', 1, 0, 1, 0, 0, 0, 1, 0, '2026-03-02')`;
  test.each(cases)('%s: %s', async (id, _, sql) => {
    const customer = await busyCustomer();
    await ledger.customer({ topup: 1n });
    const { violations, invariants } = await checkAfter(sql(customer));
    expect(violations).toContainEqual({
      invariant: id,
      subject: expect.any(String),
      accountId: ['I6', 'I19'].includes(id) ? null : customer.accountId,
    });
    expect(invariants.find((invariant) => invariant.id === id)).toMatchObject({ violations: 1 });
    expect(violations.filter(({ accountId }) => accountId !== null && accountId !== customer.accountId)).toEqual([]);
  });

  test('there is a case for each', () => {
    expect([...new Set(cases.map(([id]) => id))]).toEqual(INVARIANTS.map(({ id }) => id));
  });
});

test('violations are all counted, and the first hundred are listed', async () => {
  await Promise.all(Array.from({ length: 103 }, () => ledger.customer({ topup: 77n })));
  const { violations, invariants } = await checkAfter(['UPDATE billing.account SET topup = 78 WHERE topup = 77']);
  expect(invariants.filter((invariant) => invariant.violations > 0).map((invariant) => [invariant.id, invariant.violations])).toEqual([
    ['I2', 103],
    ['I6', 1],
  ]);
  expect(violations).toHaveLength(101);
});

test('the check passes at any moment while requests run and money moves', async () => {
  const customer = await ledger.customer({ topup: 10_000n });
  const lanes = ledger.newLanes();
  let running = true;
  const traffic = Promise.all(
    Array.from({ length: 20 }, async (_, lane) => {
      for (let count = 0; running; count++) {
        const reserve = makeReserve(customer, BigInt(lane + count));
        const { status } = await lanes.reserve(reserve);
        if (status === 'held')
          await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(lane) });
        if (count % 10 === 0)
          await refund(ledger.sql, { accountId: customer.accountId, refundId: randomUUID(), amount: picoUsd(1n) }).catch(() => undefined);
      }
    }),
  );
  const auditor = newAuditor();
  const reports: LedgerCheckReply[] = [];
  for (let count = 0; count < 10; count++) reports.push(await auditor.check());
  running = false;
  await traffic;
  expect(reports.flatMap(({ violations }) => violations)).toEqual([]);
  const [first, last] = [reports[0], reports.at(-1)] as [LedgerCheckReply, LedgerCheckReply];
  expect(last.checked.settlements).toBeGreaterThan(first.checked.settlements);
});

describe('a scheduled check', () => {
  test('counts the active keys without a successor that expire within a week', async () => {
    const keys = await Promise.all(Array.from({ length: 6 }, async () => (await ledger.customer({})).keyId));
    const [soon, later, past, replaced, disabled, endless] = keys;
    const end = (key: string | undefined, days: number, also = '') =>
      `UPDATE billing.api_key SET expires_at = clock_timestamp() + ${days} * interval '1 day' ${also} WHERE id = '${key}'`;
    const counts: number[] = [];
    const auditor = newAuditor({ onChecked: (_report, { keysExpiring }) => counts.push(keysExpiring) });
    await auditor.tick();
    await tamper([end(soon, 6.9), end(later, 7.1), end(past, -0.1)]);
    await tamper([end(replaced, 1, `, replaced_by = '${endless}'`), end(disabled, 1, ', disabled = true')]);
    await auditor.tick();
    expect(counts).toEqual([0, 1]);
  });

  test('counts the months that ended more than a week ago and are not closed', async () => {
    const { accountId } = await ledger.customer({ topup: 1n });
    const counts: number[] = [];
    const auditor = newAuditor({ onChecked: (_report, { monthsOverdue }) => counts.push(monthsOverdue) });
    await auditor.tick();
    const since = `date_trunc('month', clock_timestamp() - interval '7 days', 'UTC') - interval '2 months'`;
    await tamper([`UPDATE billing.movement SET created_at = ${since} WHERE account_id = '${accountId}'`]);
    await auditor.tick();
    expect(counts).toEqual([0, 2]);
  });

  /** Returns the invariants of each event `ledger-fault` of an account. */
  const readFaults = async (accountId: string): Promise<unknown[]> => {
    const { rows } = await ledger.sql.query<{ invariants: unknown }>(
      `SELECT payload -> 'invariants' AS invariants FROM billing.money_event
       WHERE account_id = $1 AND kind = 'ledger-fault' ORDER BY sequence`,
      [accountId],
    );
    return rows.map(({ invariants }) => invariants);
  };
  const repair = (accountId: string) =>
    tamper([`UPDATE billing.account SET topup = topup - 1, status = 'active', status_reason = NULL WHERE id = '${accountId}'`]);

  test('freezes an account whose money is wrong; the others go on', async () => {
    const [customer, other] = [await busyCustomer(), await ledger.customer({ topup: 100n })];
    await tamper([`UPDATE billing.account SET topup = topup + 1 WHERE id = '${customer.accountId}'`]);
    const checked: unknown[] = [];
    const auditor = newAuditor({ onChecked: (report, counts) => checked.push([report.violations.length, counts.accountsFrozen]) });
    await auditor.tick();
    await auditor.tick();
    expect(checked).toEqual([
      [2, 1],
      [2, 1],
    ]);
    const { rows } = await ledger.sql.query(`SELECT id, status_reason FROM billing.account WHERE status = 'frozen'`);
    expect(rows).toEqual([{ id: customer.accountId, status_reason: 'ledger check: I2' }]);
    expect(await readFaults(customer.accountId)).toEqual([['I2']]);
    expect(await readFaults(other.accountId)).toEqual([]);
    const lanes = ledger.newLanes();
    const refused = { status: 'refused', holdId: expect.any(String), code: 'account_frozen' };
    expect(await lanes.reserve(makeReserve(customer, 1n))).toEqual(refused);
    expect(await lanes.reserve(makeReserve(other, 1n))).toMatchObject({ status: 'held' });
    const settle = { holdId: customer.open, accountId: customer.accountId, reason: 'completed' as const, usage: makeUsage(3) };
    expect(await lanes.settle(settle)).toMatchObject({ status: 'settled', costPicoUsd: '3' });
    await repair(customer.accountId);
  });

  test('does not freeze for a hold that is open too long, or a window out of order', async () => {
    const { projectId, open, ...customer } = await busyCustomer();
    await tamper([
      `UPDATE billing.hold SET lease_until = now() - interval '2 minutes' WHERE id = '${open}'`,
      `UPDATE billing.project SET request_window = '[[2,1],[1,1]]' WHERE id = '${projectId}'`,
    ]);
    const reports: LedgerCheckReply[] = [];
    await newAuditor({ onChecked: (report) => reports.push(report) }).tick();
    expect(reports[0]?.violations.map(({ invariant, accountId }) => [invariant, accountId])).toEqual([
      ['I7', customer.accountId],
      ['I8', customer.accountId],
    ]);
    expect(await readFaults(customer.accountId)).toEqual([['I7', 'I8']]);
    expect(await ledger.newLanes().reserve(makeReserve({ ...customer, projectId }, 1n))).toMatchObject({ status: 'held' });
    await tamper([`UPDATE billing.hold SET lease_until = now() WHERE id = '${open}'`]);
  });

  test('runs on one replica at a time, and on another when that one is gone', async () => {
    const log: string[] = [];
    const replicas = ['a', 'b', 'c'].map((name) =>
      newAuditor({ onChecked: () => log.push(`${name} checks`), onFollowing: () => log.push(`${name} follows`) }),
    );
    for (const replica of replicas) await replica.tick();
    await replicas[0]?.stop();
    while (!log.includes('b checks')) await replicas[1]?.tick(); // the server takes a moment to see that the session has ended
    await replicas[2]?.tick();
    expect([log[0], log[1], log[2], ...log.slice(-2)]).toEqual(['a checks', 'b follows', 'c follows', 'b checks', 'c follows']);
  });

  test('runs again after the server ended its connection', async () => {
    let checks = 0;
    const auditor = newAuditor({ onChecked: () => (checks += 1) });
    await auditor.tick();
    await owner.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test-auditor' AND datname = current_database()`,
    );
    while (checks < 2) await auditor.tick();
  });

  test('a requested check freezes no account', async () => {
    const customer = await busyCustomer();
    await tamper([`UPDATE billing.account SET topup = topup + 1 WHERE id = '${customer.accountId}'`]);
    expect((await newAuditor().check()).violations).not.toEqual([]);
    expect(await ledger.newLanes().reserve(makeReserve(customer, 1n))).toMatchObject({ status: 'held' });
    await repair(customer.accountId);
  });
});

test('a stopping service does not wait for a check', async () => {
  const connect = () => connectPg({ url: ledger.url, applicationName: 'test-auditor', statementTimeoutMs: 600_000 }); // only a cancel ends it
  const auditor = newAuditor({ connect });
  await owner.query('BEGIN');
  await owner.query('LOCK TABLE billing.settlement IN ACCESS EXCLUSIVE MODE'); // as long as this lasts, no check ends
  const [ticking, asking] = [auditor.tick(), expect(auditor.check()).rejects.toThrow()];
  while ((await ledger.sql.query(WAITING)).rowCount !== 2) await new Promise((resolve) => setImmediate(resolve));
  await auditor.stop();
  await Promise.all([ticking, asking]);
  await owner.query('ROLLBACK');
});

describe('a long check', () => {
  let isSlow: boolean;
  /** Number of times that the guard of the check has looked for a migration that waits. */
  let looks: number;
  beforeEach(() => {
    isSlow = true;
    looks = 0;
  });
  /** Returns a connection on which one rule of the check sleeps while `isSlow`, after others have read the accounts. */
  async function slowly(): Promise<PgConnection> {
    const connection = await connectPg({ url: ledger.url, applicationName: 'test-auditor', statementTimeoutMs: 60_000 });
    const query = connection.query.bind(connection) as (sql: string, values?: unknown[]) => unknown;
    const slow = INVARIANTS.find(({ id }) => id === 'I5')?.sql(makeFullScope([])) ?? '';
    connection.query = ((sql: string, values?: unknown[]) => {
      if (sql.includes('FROM pg_locks')) looks += 1;
      return query(isSlow ? sql.replace(slow, 'SELECT NULL AS subject, NULL AS account_id FROM pg_sleep(59)') : sql, values);
    }) as unknown as typeof connection.query;
    return connection;
  }
  const asleep = async (): Promise<boolean> => {
    const rows = await ledger.prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'test-auditor' AND wait_event = 'PgSleep'`;
    return rows.length > 0;
  };
  const addColumn = 'ALTER TABLE billing.account ADD COLUMN added integer';
  const dropColumn = 'ALTER TABLE billing.account DROP COLUMN IF EXISTS added';
  afterEach(() => owner.query(dropColumn));

  test('is cancelled by a migration: the migration runs at once, and requests go on', async () => {
    const customer = await ledger.customer({ topup: 1_000n });
    const checked = expect(newAuditor({ connect: slowly }).check()).rejects.toThrow('a change of the schema waited for the check');
    while (!(await asleep())) await delay(5);
    const changed = owner.query(addColumn);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => ledger.newLanes().reserve(makeReserve(customer, 1n))));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(20).fill('held'));
    await changed;
    await checked;
  });

  test('is cancelled by an index that is built beside traffic', async () => {
    const checked = expect(newAuditor({ connect: slowly }).check()).rejects.toThrow('a change of the schema waited for the check');
    while (!(await asleep())) await delay(5);
    await owner.query('CREATE INDEX CONCURRENTLY account_added ON billing.account (name)');
    await checked;
    await owner.query('DROP INDEX billing.account_added');
  });

  test('runs again in the next round of the schedule', async () => {
    const reports: LedgerCheckReply[] = [];
    const auditor = newAuditor({ connect: slowly, onChecked: (report) => reports.push(report) });
    const ticking = auditor.tick();
    while (!(await asleep())) await delay(5);
    await owner.query(addColumn);
    await ticking;
    expect(reports).toEqual([]);
    isSlow = false;
    await auditor.tick();
    expect(reports).toHaveLength(1);
  });

  test('is not cancelled by statements that do not wait for readers', async () => {
    let seen = 'goes on';
    newAuditor({ connect: slowly })
      .check()
      .catch(() => {
        seen = 'cancelled';
      });
    while (!(await asleep())) await delay(5);
    const writer = await connectPg({ url: ledger.ownerUrl, applicationName: 'test-writer' });
    await writer.query('BEGIN; LOCK TABLE billing.account IN ROW EXCLUSIVE MODE');
    await owner.query('BEGIN');
    const locked = owner.query('LOCK TABLE billing.account IN SHARE MODE');
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'billing.account'::regclass AND mode = 'ShareLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    while ((await ledger.sql.query(waiting)).rowCount === 0) await delay(5);
    // The second of these looks begins when the first has found nothing.
    const looked = looks;
    while (seen === 'goes on' && looks < looked + 2) await delay(5);
    await writer.end();
    await locked;
    await owner.query('ROLLBACK');
    expect(seen).toBe('goes on');
  });
});

test('concurrent callers share a check that starts after their request', async () => {
  let connections = 0;
  const auditor = newAuditor({
    connect: () => {
      connections += 1;
      return connectPg({ url: ledger.url, applicationName: 'test-auditor' });
    },
  });
  const reports = await Promise.all(Array.from({ length: 10 }, () => auditor.check()));
  expect(connections).toBe(4); // each check has one to run on, and one to watch it from
  expect(reports.slice(1).every((report) => report === reports[1])).toBe(true);
});
