import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { LedgerFixture, makeReserve, makeUsage, TIMES } from '../../test/ledger-fixture.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { applyBatch } from '../batch/apply-batch.js';
import { checkLedger } from '../ledger/check-ledger.js';
import { creditNote } from '../ledger/credit-note.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { rebuildUsage } from '../usage/close-usage.js';
import { queryUsage } from '../usage/query-usage.js';
import { Months } from './months.js';

/** Two closed months, the oldest of which is detached and attached, and an open one after them. */

const OVERDUE_MS = 10 * 365 * 24 * 3_600_000;
const [M0, M1, M2] = [monthsAgo(4), monthsAgo(3), monthsAgo(2)];
const PARTS = [`settlement_${M0.replace('-', '_')}`, `late_settlement_${M0.replace('-', '_')}`] as const;
const LEASES = { leaseMs: 60_000, reaperGraceMs: -120_000 };

function monthsAgo(count: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)).toISOString().slice(0, 7);
}

const monthStart = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** Returns a new id of a month. */
function makeId(month: string): string {
  const time = (monthStart(month) + 86_400_000).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-${randomUUIDv7().slice(14)}`;
}

const ledger = await LedgerFixture.open({ guarded: true });
const months = new Months({ connect: () => connectPg({ url: ledger.url, applicationName: 'test-months' }), prisma: ledger.prisma });
await addOldPartitions();
const customer = await ledger.customer({ topup: 1_000n });
const lanes = () => ledger.newLanes({ times: LEASES });
const reserve = (holdId: string) => lanes().reserve(makeReserve(customer, 150n, holdId));
const settle = (holdId: string, rest: { reason: 'completed' | 'lease-expired'; usage?: ReturnType<typeof makeUsage> }) =>
  lanes().settle({ holdId, accountId: customer.accountId, ...rest });

const grant = { grantId: randomUUID(), accountId: customer.accountId, amount: picoUsd(100n), endsAt: new Date(Date.now() + 86_400_000) };
await grantPlan(ledger.sql, grant);
await tamper(`UPDATE billing.movement SET created_at = '${M0}-01 00:00Z'`);
/** Ids of requests of the first month. */
const first = { settled: makeId(M0), late: makeId(M0), endedLater: makeId(M0), neverUsed: makeId(M0) };
await request(first.settled, 120, `${M0}-10 10:20Z`);
await reserve(first.late);
await settle(first.late, { reason: 'lease-expired' });
await moveTo(first.late, `${M0}-10 11:20Z`);
// As an item of a service, so that each file of a month has rows that go.
await tamper(`UPDATE billing.settlement SET quantity = 0 WHERE hold_id = '${first.late}'`);
await settle(first.late, { reason: 'completed', usage: makeUsage(7) });
await tamper(`UPDATE billing.late_settlement SET settled_at = '${M1}-01 00:10Z'`);
await request(first.endedLater, 30, `${M1}-01 00:20Z`);
await request(makeId(M1), 40, `${M1}-20 10:20Z`);
await creditNote(ledger.sql, { requestId: `req-${first.settled}`, noteId: 'cn-0', amount: picoUsd(1n), reason: 'before it is detached' });
await ledger.closeUsage();

afterAll(async () => {
  await months.stop();
  await ledger.close();
});

/** Replaces the first partition, which has all months until the next one, by those of the months. */
async function addOldPartitions(): Promise<void> {
  const { rows } = await ledger.sql.query<{ last: string }>(
    `SELECT min(right(relname, 7)) AS last FROM pg_class WHERE relnamespace = 'journal'::regnamespace AND relname ~ '^settlement_\\d{4}_\\d{2}$'`,
  );
  const last = rows[0]?.last ?? '';
  await ledger.sql.query(`DROP TABLE journal.late_settlement_${last}, journal.settlement_${last}`);
  for (let ago = 4; ago >= -1; ago--) {
    const month = `${monthsAgo(ago)}-01`;
    const from = ago === 4 ? 'MINVALUE' : `%L`;
    await ledger.sql.query(
      `SELECT billing.add_partitions('${month.slice(0, 7).replace('-', '_')}',
         format('FOR VALUES FROM (${from}) TO (%L)', ${ago === 4 ? '' : `billing.first_id_of('${month}'), `}billing.first_id_of('${monthsAgo(ago - 1)}-01')))`,
    );
  }
}

async function request(holdId: string, cost: number, at: string): Promise<void> {
  await reserve(holdId);
  await settle(holdId, { reason: 'completed', usage: makeUsage(cost) });
  await moveTo(holdId, at);
}

function moveTo(holdId: string, at: string): Promise<void> {
  return tamper(`UPDATE billing.settlement SET settled_at = '${at}' WHERE hold_id = '${holdId}'`);
}

/** Runs statements that triggers would refuse. */
async function tamper(...statements: string[]): Promise<void> {
  await ledger.sql.query('SET session_replication_role = replica');
  for (const statement of statements) await ledger.sql.query(statement);
  await ledger.sql.query('SET session_replication_role = DEFAULT');
}

const all = async (sql: string, values: unknown[] = []): Promise<unknown[]> => (await ledger.sql.query(sql, values)).rows;

/** Everything that has to be the same while a month is detached: both checks, balances and rollups. */
async function books() {
  const report = async (full: boolean) => {
    const { checked, monthDigest, invariants, violations } = await checkLedger(ledger.sql, OVERDUE_MS, { full });
    return { checked: { ...checked, auditEntries: 0 }, monthDigest, invariants, violations };
  };
  return {
    scheduled: await report(false),
    full: await report(true),
    account: await ledger.account(customer.accountId),
    usage: await all('SELECT * FROM billing.usage_hour ORDER BY hour, ending, upstream'),
  };
}

/** Everything that is the same again after a month was attached. */
async function everything() {
  return {
    ...(await books()),
    settlements: await all('SELECT tableoid::regclass::text AS part, s.* FROM billing.settlement s ORDER BY hold_id'),
    late: await all('SELECT tableoid::regclass::text AS part, l.* FROM billing.late_settlement l ORDER BY hold_id'),
    sums: await all('SELECT * FROM billing.detached_account'),
    constraints: await all(
      `SELECT conrelid::regclass::text AS of, conname, pg_get_constraintdef(oid) AS text FROM pg_constraint
       WHERE connamespace IN ('billing'::regnamespace, 'journal'::regnamespace) ORDER BY 1, 2, 3`,
    ),
    triggers: await all(
      `SELECT pg_get_triggerdef(oid) AS text FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'journal.%' AND NOT tgisinternal ORDER BY 1`,
    ),
    indexes: await all(`SELECT indexdef FROM pg_indexes WHERE schemaname = 'journal' ORDER BY 1`),
    exported: (await months.read({ month: M0, file: 'settlements' })).lines,
  };
}

const detach = (month: string, by = months) => by.detach(month, OWN_AUTHOR);
const attach = (month: string, by = months) => by.attach(month, OWN_AUTHOR);
const conflict = (message: string) => expect.objectContaining({ code: 'conflict', message: expect.stringContaining(message) });
const violations = async (full: boolean): Promise<string[]> =>
  (await checkLedger(ledger.sql, OVERDUE_MS, { full })).violations.map(({ invariant, subject }) => `${invariant} ${subject}`);

/** Returns what both checks find after a statement, and undoes it. */
async function foundAfter(statement: string): Promise<{ scheduled: string[]; full: string[] }> {
  const query = (text: string, values?: unknown[]) =>
    /^(BEGIN|COMMIT|ROLLBACK)/.test(text) ? Promise.resolve() : ledger.sql.query(text, values);
  const connection = { query } as unknown as PgConnection;
  const found = async (full: boolean) =>
    (await checkLedger(connection, OVERDUE_MS, { full })).violations.map(({ invariant, subject }) => `${invariant} ${subject}`);
  await ledger.sql.query('BEGIN');
  try {
    await tamper(statement);
    return { scheduled: await found(false), full: await found(true) };
  } finally {
    await ledger.sql.query('ROLLBACK');
  }
}

/** Closes the months that are not closed yet. */
async function closeAll(): Promise<void> {
  for (const month of [M0, M1, M2]) await months.close(month, OWN_AUTHOR);
}

test('a month is not detached while it and the next month are not closed', async () => {
  await expect(detach(M0)).rejects.toEqual(conflict(`Close ${M0} and ${M1} first.`));
  await months.close(M0, OWN_AUTHOR);
  await expect(detach(M0)).rejects.toEqual(conflict(`Close ${M1} first.`));
});

describe('a month is not detached', () => {
  beforeAll(closeAll);

  test('before the months before it', async () => {
    await expect(detach(M1)).rejects.toEqual(conflict(`The month to detach is ${M0}, with all before it.`));
  });

  test('while one of its holds is open, or was settled in a month that is not closed', async () => {
    const holdId = makeId(M0);
    await reserve(holdId);
    await expect(detach(M0)).rejects.toEqual(conflict('A hold of this month'));
    await settle(holdId, { reason: 'completed' });
    await expect(detach(M0)).rejects.toEqual(conflict('ended in a month that is not closed'));
    await tamper(`DELETE FROM billing.settlement WHERE hold_id = '${holdId}'`);
  });

  test('when one of its rows was changed', async () => {
    const setUpstream = (value: string) => tamper(`UPDATE billing.settlement SET upstream = ${value} WHERE hold_id = '${first.settled}'`);
    await setUpstream(`'other'`);
    await expect(detach(M0)).rejects.toEqual(conflict(`${M0} is not what was closed`));
    await setUpstream('NULL');
  });

  test('when rows are added while it is summed up', async () => {
    const adding = new Months({
      connect: () => hooked('INSERT INTO billing.detached_account', () => request(makeId(M0), 1, `${M0}-11Z`)),
      prisma: ledger.prisma,
    });
    await expect(detach(M0, adding)).rejects.toEqual(conflict('Rows were added'));
    await tamper(`DELETE FROM billing.settlement WHERE cost = 1`, `UPDATE billing.account SET topup = topup + 1`);
  });

  test.each(['INSERT INTO billing.detached_account', 'record_audit', 'billing.detach_month', 'COMMIT'])(
    'by a service that dies at %s: nothing has changed',
    async (statement) => {
      const before = await everything();
      const dying = new Months({ connect: () => hooked(statement, 'dies'), prisma: ledger.prisma });
      await expect(detach(M0, dying)).rejects.toThrow();
      expect(await everything()).toEqual(before);
    },
  );
});

/** Opens a connection that does something before the first statement that contains `text`. */
async function hooked(text: string, what: 'dies' | (() => Promise<unknown>)): Promise<PgConnection> {
  const connection = await connectPg({ url: ledger.url, applicationName: 'test-hooked' });
  const query = connection.query.bind(connection) as (sql: string, values?: unknown[]) => Promise<unknown>;
  let done = false;
  connection.query = (async (sql: string, values?: unknown[]) => {
    if (sql.includes(text) && !done) {
      done = true;
      await (what === 'dies' ? query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined) : what());
    }
    return query(sql, values);
  }) as unknown as typeof connection.query;
  return connection;
}

describe('a detached month', () => {
  let before: Awaited<ReturnType<typeof everything>>;
  beforeAll(async () => {
    await closeAll();
    before = await everything();
    await detach(M0);
  });

  test('both checks, balances and rollups are as before, and its rows are in tables of their own', async () => {
    const { scheduled, full, account, usage } = before;
    expect(scheduled.violations).toEqual([]);
    expect(await books()).toEqual({ scheduled, full, account, usage });
    const rows = async (table: string) =>
      (await ledger.sql.query(`SELECT hold_id FROM ${table} ORDER BY 1`)).rows.map((row) => row.hold_id);
    expect(await rows(`detached.${PARTS[0]}`)).toEqual([first.settled, first.late, first.endedLater].sort());
    expect(await rows(`detached.${PARTS[1]}`)).toEqual([first.late]);
    expect(await rows('billing.settlement')).not.toContain(first.settled);
  });

  test('gives no credit note for its requests, and says what to do', async () => {
    const note = { requestId: `req-${first.settled}`, noteId: 'cn-1', reason: 'a test' };
    await expect(creditNote(ledger.sql, note)).rejects.toEqual(conflict(`A request of ${M0}, which is detached`));
  });

  test('is listed, with its audit row, and a repeated call replies the same', async () => {
    const {
      detached: [listed],
      months: closed,
    } = await months.list();
    expect(listed).toEqual({
      month: M0,
      tables: PARTS.map((part) => `detached.${part}`),
      settlements: 3,
      lateSettlements: 1,
      detachedAt: expect.any(String),
    });
    expect(closed.map(({ month }) => month)).toEqual([M2, M1, M0]);
    expect(await detach(M0)).toEqual({ ...listed, detached: false });
    expect(await all(`SELECT target, after ->> 'settlements' AS settlements FROM billing.audit WHERE action = 'month.detach'`)).toEqual([
      { target: `month/${M0}`, settlements: '3' },
    ]);
  });

  test.each(['settled', 'late', 'endedLater', 'neverUsed'] as const)(
    'its id is never held or charged again (%s): from memory or under the lock',
    async (which) => {
      const holdId = first[which];
      const rows = await all('SELECT hold_id FROM billing.settlement ORDER BY 1');
      const lane = await ledger.connect();
      const reserved = makeReserve(customer, 10n, holdId);
      const tooMuch = makeReserve(customer, 1_000_000n, holdId);
      const other = makeReserve(customer, 1n, randomUUIDv7());
      const { accountId } = customer;
      const settled = { holdId, accountId, reason: 'completed' as const, usage: makeUsage(5) };
      const apply = async (batch: Parameters<typeof applyBatch>[1]) => (await applyBatch(lane, batch, TIMES)).outcomes;
      expect(await apply({ settles: [settled], reserves: [reserved] })).toEqual({
        settles: [{ status: 'unknown', holdId, costPicoUsd: '0' }],
        reserves: [{ status: 'closed', holdId }],
      });
      expect(await apply({ settles: [], reserves: [other] })).toMatchObject({ reserves: [{ status: 'held' }] });
      // The lane decides what follows from memory: it knows the account, and the event of this refusal is the only one within a minute.
      await apply({ settles: [], reserves: [makeReserve(customer, 1_000_000n, randomUUIDv7())] });
      for (const again of [reserved, tooMuch])
        expect(await apply({ settles: [], reserves: [again] })).toEqual({ settles: [], reserves: [{ status: 'closed', holdId }] });
      expect(await apply({ settles: [settled, { ...settled, reason: 'lease-expired' }], reserves: [] })).toMatchObject({
        settles: [{ status: 'unknown' }, { status: 'unknown' }],
      });
      await apply({ settles: [{ ...settled, holdId: other.holdId, usage: makeUsage(0) }], reserves: [] });
      await tamper(`DELETE FROM billing.settlement WHERE hold_id = '${other.holdId}'`);
      expect(await all('SELECT hold_id FROM billing.settlement ORDER BY 1')).toEqual(rows);
      expect(await violations(false)).toEqual([]);
    },
  );

  test('the database refuses its ids', async () => {
    const { rows } = await ledger.sql.query(`SELECT hold_id FROM detached.${PARTS[0]} LIMIT 1`);
    await ledger.sql.query('SET session_replication_role = replica');
    await expect(
      ledger.sql.query(
        `INSERT INTO billing.hold (id, account_id, project_id, key_id, request_id, model, amount, plan_part, price_version, input_price,
           cached_input_price, output_price, lease_until, created_at) VALUES ($1, $2, $3, $4, 'r', 'm', 0, 0, 1, 1, 1, 1, now(), now())`,
        [rows[0]?.hold_id, customer.accountId, customer.projectId, customer.keyId],
      ),
    ).rejects.toMatchObject({ constraint: 'hold_is_not_detached' });
    for (const journal of ['settlement', 'late_settlement'] as const) {
      const copy = `INSERT INTO billing.${journal} SELECT * FROM detached.${journal}_${M0.replace('-', '_')} WHERE hold_id = '${first.late}'`;
      await expect(ledger.sql.query(copy)).rejects.toMatchObject({ constraint: `${journal}_is_not_detached` });
    }
    await ledger.sql.query('SET session_replication_role = DEFAULT');
  });

  test('the service has no rights on its tables', async () => {
    const service = await connectPg({ url: ledger.url, applicationName: 'test' });
    for (const statement of [
      `SELECT FROM detached.${PARTS[0]}`,
      `DELETE FROM billing.detached_month`,
      `DELETE FROM billing.detached_account`,
      `SELECT billing.refuse_ids(NULL)`,
    ])
      await expect(service.query(statement)).rejects.toMatchObject({ code: '42501' });
    await service.end();
  });

  test('its usage is that of the rollups: whole hours are answered, parts of an hour are refused', async () => {
    const whole = { accountId: customer.accountId, from: `${M0}-01T00:00:00Z`, to: `${M1}-01T00:00:00Z` };
    expect((await queryUsage(ledger.prisma, whole)).rows).toMatchObject([{ requests: 2, costPicoUsd: '120' }]);
    await expect(queryUsage(ledger.prisma, { ...whole, from: `${M0}-10T10:10:00Z` })).rejects.toMatchObject({
      message: expect.stringContaining('use whole hours'),
    });
    const { from } = await rebuildUsage(ledger.sql);
    expect(from).toBe(`${M1}-02T00:00:00.000Z`);
    expect(await all('SELECT * FROM billing.usage_hour ORDER BY hour, ending, upstream')).toEqual(before.usage);
  });

  test('files that lack its rows are not exported; the others are', async () => {
    for (const month of [M0, M1]) await expect(months.read({ month, file: 'settlements' })).rejects.toEqual(conflict(`attach ${M0} first`));
    expect(await months.read({ month: M0, file: 'statements' })).toMatchObject({ nextCursor: null });
    expect(await months.read({ month: M2, file: 'settlements' })).toEqual({ lines: '', nextCursor: null });
  });

  test.each<[what: string, statement: () => string, found: { scheduled: string[]; full: string[] }]>([
    [
      'a changed row of what is left of the next month',
      () => `UPDATE billing.settlement SET request_id = 'other' WHERE settled_at >= '${M1}-20Z'`,
      { scheduled: [], full: [`I15 ${M1} settlements`] },
    ],
    [
      'another digest',
      () => `UPDATE billing.detached_month SET settlements_digest = ''`,
      { scheduled: [`I15 ${M0} detached`], full: [`I15 ${M0} detached`] },
    ],
    [
      'a row that is gone',
      () => 'DELETE FROM billing.detached_month',
      { scheduled: [`I15 ${M0} detached`], full: expect.arrayContaining([`I15 ${M0} detached`]) as never },
    ],
  ])('checks find %s', async (_, statement, found) => {
    expect(await foundAfter(statement())).toMatchObject(found);
  });

  test('a full check finds changed sums', async () => {
    const { scheduled, full } = await foundAfter(
      'UPDATE billing.detached_account SET change = change - 1, topup_change = topup_change - 1',
    );
    expect({ scheduled, full: full.sort() }).toEqual({
      scheduled: [],
      full: [`I15 ${M0} detached sums`, `I2 ${customer.accountId}`, 'I6 all accounts'],
    });
  });

  test.each<[what: string, statement: string, undo: string, message: string]>([
    [
      'was changed',
      `UPDATE detached.${PARTS[0]} SET cost = cost - 1, topup_cost = topup_cost - 1 WHERE cost = 120`,
      `UPDATE detached.${PARTS[0]} SET cost = cost + 1, topup_cost = topup_cost + 1 WHERE cost = 119`,
      `The rows of detached.${PARTS[0]} are not those that were detached.`,
    ],
    [
      'lies in another transaction',
      `UPDATE detached.${PARTS[1]} SET transaction_id = transaction_id + 1`,
      `UPDATE detached.${PARTS[1]} SET transaction_id = transaction_id - 1`,
      `The rows of detached.${PARTS[1]} are not those that were detached.`,
    ],
    [
      'is missing',
      `ALTER TABLE detached.${PARTS[0]} RENAME TO gone`,
      `ALTER TABLE detached.gone RENAME TO ${PARTS[0]}`,
      `There is no table detached.${PARTS[0]}: restore its dump.`,
    ],
  ])('is not attached when a row or table %s', async (_, statement, undo, message) => {
    await tamper(statement);
    await expect(attach(M0)).rejects.toEqual(conflict(message));
    await tamper(undo);
  });

  test('the next month follows it, and they come back in reverse order', async () => {
    await detach(M1);
    const { scheduled, full, account, usage } = before;
    expect(await books()).toEqual({ scheduled, full, account, usage });
    await expect(attach(M0)).rejects.toEqual(conflict(`The month to attach is ${M1}.`));
    await attach(M1);
    expect(await books()).toEqual({ scheduled, full, account, usage });
    expect((await months.list()).detached.map(({ month }) => month)).toEqual([M0]);
  });

  test('is attached as an older version has left it: without the columns and checks of later ones, and with others', async () => {
    const columns = ['cache_write_tokens', 'cache_write_1h_tokens', 'tier', 'price_step'];
    for (const [part, more] of [
      [PARTS[0], ['cache_write_price', 'cache_write_1h_price', 'price_rules', ...columns]],
      [PARTS[1], columns],
    ] as const) {
      await tamper(
        `ALTER TABLE detached.${part} ${more.map((column) => `DROP COLUMN ${column}`).join(', ')},
           ADD COLUMN former text CONSTRAINT former_check CHECK (former > ''), DROP CONSTRAINT ${part.slice(0, -8)}_reason_check,
           ADD CONSTRAINT ${part.slice(0, -8)}_reason_check CHECK (reason <> '' OR former IS NULL)`,
        `UPDATE billing.detached_month SET ${part.slice(0, -8)}s_digest = (
           SELECT digest FROM billing.journal_digest('detached.${part}', 'ffffffff-ffff-ffff-ffff-ffffffffffff')) WHERE id = '${M0}'`,
      );
    }
    await attach(M0);
    expect(await everything()).toEqual(before);
    await detach(M0);
  });

  test('is attached from a dump that has no rights, triggers or indexes, and all is as it was', async () => {
    for (const part of PARTS) {
      await ledger.sql.query(
        `CREATE TABLE detached.copy (LIKE detached.${part} INCLUDING ALL); INSERT INTO detached.copy SELECT * FROM detached.${part}`,
      );
      await ledger.sql.query(`DROP TABLE detached.${part} CASCADE; ALTER TABLE detached.copy RENAME TO ${part}`);
      await ledger.sql.query(`ALTER TABLE detached.${part} RENAME CONSTRAINT copy_pkey TO ${part}_pkey`);
    }
    expect(await attach(M0)).toEqual({ month: M0, settlements: 3, lateSettlements: 1 });
    const attached = await all(`SELECT target FROM billing.audit WHERE action = 'month.attach' ORDER BY id DESC LIMIT 1`);
    expect(attached).toEqual([{ target: `month/${M0}` }]);
    const { indexes, ...rest } = await everything();
    const { indexes: _, ...expected } = before;
    expect(rest).toEqual(expected);
    expect(indexes).toHaveLength(before.indexes.length);
    expect(await reserve(first.settled)).toMatchObject({ status: 'closed' });
    expect(await settle(first.settled, { reason: 'completed' })).toEqual({ status: 'already', holdId: first.settled, costPicoUsd: '120' });
  });
});

test('requests go on while a month is detached and attached beside a long report: none fails', async () => {
  await closeAll();
  const reader = await connectPg({ url: ledger.ownerUrl, applicationName: 'a-long-report' });
  await reader.query('BEGIN; SELECT FROM billing.settlement LIMIT 1');
  const read = delay(1_500).then(() => reader.end());
  const going = { on: true };
  const traffic = Array.from({ length: 4 }, async () => {
    const lane = ledger.newLanes();
    const statuses = new Set<string>();
    while (going.on) {
      const hold = makeReserve(customer, 1n, randomUUIDv7());
      statuses.add((await lane.reserve(hold)).status);
      statuses.add(
        (await lane.settle({ holdId: hold.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(0) })).status,
      );
    }
    return [...statuses];
  });
  await detach(M0);
  await attach(M0);
  going.on = false;
  expect(await Promise.all(traffic)).toEqual(traffic.map(() => ['held', 'settled']));
  await read;
  expect([await violations(false), await violations(true)]).toEqual([[], []]);
});
