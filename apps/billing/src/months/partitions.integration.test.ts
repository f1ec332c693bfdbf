import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';
import { LedgerFixture, makeReserve, makeUsage, TIMES } from '../../test/ledger-fixture.js';
import { TracedLane } from '../../test/traced-lane.js';
import { applyBatch } from '../batch/apply-batch.js';
import { renewHolds } from '../holds/renew.js';
import { MonthKeeper } from './month-keeper.js';

/** The journals of settlements as tables that are partitioned by month. */
const ledger = await LedgerFixture.open();
const service = await connectPg({ url: ledger.url, applicationName: 'test' });
const customer = await ledger.customer({ topup: 1_000_000n });
/** Months with partitions, in order; the first one has all before. */
const months = await readMonths();
afterAll(async () => {
  await service.end();
  await ledger.close();
});

async function readMonths(): Promise<string[]> {
  const { rows } = await ledger.sql.query(
    `SELECT right(relname, 7) AS month FROM pg_class WHERE relnamespace = 'journal'::regnamespace AND relkind = 'r' AND relname ~ '^settlement_\\d' ORDER BY 1`,
  );
  return rows.map(({ month }) => month);
}

/** Partitions of both journals, without their schema. */
async function partitions(): Promise<string[]> {
  const { rows } = await ledger.sql.query(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r' ORDER BY 1`,
  );
  return rows.map(({ name }) => name.replace('journal.', ''));
}

/** Returns a new id of a time. */
function makeId(at: number): string {
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-${randomUUIDv7().slice(14)}`;
}

const monthStart = (month: string): number => Date.parse(`${month.replace('_', '-')}-01T00:00:00Z`);

async function insertSettlement(holdId: string, by: PgConnection = ledger.sql): Promise<string> {
  const { rows } = await by.query(
    `INSERT INTO billing.settlement (hold_id, account_id, project_id, reason, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over,
       prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, settled_at)
     VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'lease-expired', 10, 5, 0, 0, 0, 5, 0, 1, 0, 1, 0, now()) RETURNING tableoid::regclass::text AS part`,
    [holdId],
  );
  return rows[0]?.part.replace('journal.', '');
}

function insertLate(holdId: string): Promise<unknown> {
  return ledger.sql.query(
    `INSERT INTO billing.late_settlement (hold_id, account_id, reason, held, billed, due, plan_cost, topup_cost, writeoff, over, prompt_tokens,
       cached_tokens, output_tokens, reasoning_tokens, settled_at)
     VALUES ($1, gen_random_uuid(), 'completed', 10, 5, 1, 0, 1, 0, 0, 1, 0, 1, 0, now())`,
    [holdId],
  );
}

/** Runs `work` in a transaction that is rolled back. */
async function undone<Result>(work: () => Promise<Result>): Promise<Result> {
  await ledger.sql.query('BEGIN');
  try {
    return await work();
  } finally {
    await ledger.sql.query('ROLLBACK');
  }
}

test('a new database has partitions for this month and the three after it', () => {
  const now = new Date();
  const month = (ahead: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead)).toISOString().slice(0, 7).replace('-', '_');
  expect(months).toEqual([month(1), month(2), month(3)]); // the first one has this month too
});

test('the time in the id of a hold decides about its partition', () =>
  undone(async () => {
    const [first = '', second = '', third = ''] = months;
    const parts: string[] = [];
    for (const at of [0, monthStart(second) - 1, monthStart(second), monthStart(third) - 1, monthStart(third)])
      parts.push(await insertSettlement(makeId(at)));
    parts.push(await insertSettlement('ffffffff-ffff-4fff-bfff-ffffffffffff'));
    expect(parts).toEqual([first, first, second, second, third, 'default'].map((month) => `settlement_${month}`));
  }));

describe.each(['month', 'default'])('in a partition (%s)', (kind) => {
  const newId = (): string => (kind === 'month' ? randomUUIDv7() : `f${randomUUID().slice(1)}`);

  test('an id is inserted once', () =>
    undone(async () => {
      const holdId = newId();
      await insertSettlement(holdId);
      await expect(insertSettlement(holdId)).rejects.toMatchObject({ code: '23505' });
    }));

  test('a late settlement needs its settlement', () =>
    undone(async () => {
      const holdId = newId();
      await ledger.sql.query('SAVEPOINT without');
      await expect(insertLate(holdId)).rejects.toMatchObject({ code: '23503', constraint: 'late_settlement_hold_id_fkey' });
      await ledger.sql.query('ROLLBACK TO without');
      await insertSettlement(holdId);
      await insertLate(holdId);
    }));
});

test('no partition can be changed: the service has no rights, and a trigger stops the owner', async () => {
  const names = await partitions();
  expect(names).toHaveLength(2 * (months.length + 1));
  for (const name of names) {
    for (const statement of [`UPDATE journal.${name} SET held = held`, `DELETE FROM journal.${name}`, `TRUNCATE journal.${name} CASCADE`]) {
      await expect(service.query(statement)).rejects.toMatchObject({ code: '42501' });
      await expect(ledger.sql.query(statement)).rejects.toMatchObject({ code: '23001' });
    }
  }
});

describe('months to come', () => {
  /** Drops the partitions of the last two months, as if none had been added for long. */
  async function dropLastMonths(): Promise<string[]> {
    const dropped = months.slice(-2);
    for (const month of dropped) await ledger.sql.query(`DROP TABLE journal.late_settlement_${month}, journal.settlement_${month}`);
    return dropped;
  }
  const keep = async (connection: PgConnection) => (await connection.query('SELECT * FROM billing.keep_months(3)')).rows[0];
  const named = (list: string[]) => list.map((month) => month.replace('_', '-'));

  test('are added once, whichever replica asks, like those before', async () => {
    const before = await partitions();
    const dropped = await dropLastMonths();
    const other = await connectPg({ url: ledger.url, applicationName: 'test' });
    const kept = await Promise.all([keep(service), keep(other)]);
    await other.end();
    expect(kept.map(({ added }) => added).sort()).toEqual([[], named(dropped)]);
    expect(await partitions()).toEqual(before);
  });

  test('a month whose rows are in the default partition stays there', () =>
    undone(async () => {
      const [first = '', second = ''] = await dropLastMonths();
      const holdId = makeId(monthStart(first) + 1);
      expect(await insertSettlement(holdId)).toBe('settlement_default');
      expect(await keep(ledger.sql)).toEqual({ added: named([second]), outside: '1' });
      await expect(insertSettlement(holdId)).rejects.toMatchObject({ code: '23505' });
    }));

  test('billing says how many settlements are of no month', async () => {
    await insertSettlement('f0000000-0000-4000-8000-000000000000');
    const lines: unknown[] = [];
    const logger = { info: (...line: unknown[]) => lines.push(line), warn: (...line: unknown[]) => lines.push(line) } as unknown as Logger;
    await new MonthKeeper(ledger.prisma, { closeDue: async () => undefined }, logger).tick();
    expect(lines).toEqual([[{ settlements: 1 }, 'settlements in the default partition: their hold ids are of no month']]);
  });
});

test('the statements of a batch look only into the partitions of their months', async () => {
  const lane = await TracedLane.open(ledger.ownerUrl, /^(?:late_)?settlement_(\w+)$/);
  const [thisMonth = ''] = months;
  const apply = (batch: Parameters<typeof applyBatch>[1], now?: number) =>
    lane.during(() => applyBatch(lane.connection, { ...batch }, TIMES, now));
  const makeSettle = (holdId: string) => ({ ...customer, holdId, reason: 'completed' as const, usage: makeUsage(10) });
  const [one, other] = [makeReserve(customer, 100n, randomUUIDv7()), makeReserve(customer, 100n, randomUUIDv7())];

  const within = { 'within a function': [thisMonth] };
  expect(await apply({ settles: [], reserves: [one] })).toEqual({ lock_accounts: [], read_batch: [thisMonth], write_batch: [], ...within });
  expect(await apply({ settles: [makeSettle(one.holdId)], reserves: [other] })).toEqual({
    write_cached_batch_settles_reserves: [],
    ...within,
  });
  expect(await apply({ settles: [makeSettle(randomUUIDv7())], reserves: [] })).toEqual({
    lock_accounts: [],
    read_batch: [thisMonth],
    record_tombstones: [],
    ...within,
  });
  const reaped = { ...makeSettle(other.holdId), reason: 'lease-expired' as const };
  await applyBatch(lane.connection, { settles: [reaped], reserves: [] }, TIMES, Date.now() + 1_000_000);
  expect(await apply({ settles: [makeSettle(other.holdId)], reserves: [] }, Date.now() + 1_000_001)).toEqual({
    lock_accounts: [],
    read_batch: [thisMonth],
    settle_late: [],
    write_batch: [],
    ...within,
  });
  const renewed = await lane.during(() => renewHolds(lane.connection, [], 60_000, [other.holdId]));
  expect(renewed).toEqual({ renew_holds: [], not_settled: [thisMonth] });
  await lane.connection.end();
});
