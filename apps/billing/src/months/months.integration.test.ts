import { createHash, randomUUID } from 'node:crypto';
import { MONTH_FILE_NAMES, type MonthFileName, monthFileHeader } from '#contracts/billing/months.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, PRICE } from '../../test/ledger-fixture.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { checkLedger } from '../ledger/check-ledger.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { refund } from '../ledger/refund.js';
import { Months } from './months.js';

/** Months are closed two and three months after their rows, so that the time of the test does not matter. */
let ledger: LedgerFixture;
let months: Months;
let customer: Customer;
let grantId: string;

const OVERDUE_MS = 10 * 365 * 24 * 3_600_000;
const FIRST = monthsAgo(3);
const SECOND = monthsAgo(2);

async function open(): Promise<void> {
  ledger = await LedgerFixture.open({ guarded: true });
  months = new Months({ connect: () => connectPg({ url: ledger.url, applicationName: 'test-months' }), prisma: ledger.prisma });
  customer = await ledger.customer({ topup: 1_000n });
  grantId = randomUUID();
  await grantPlan(ledger.sql, { grantId, accountId: customer.accountId, amount: picoUsd(100n), endsAt: new Date(Date.now() + 3_600_000) });
  await refund(ledger.sql, {
    accountId: customer.accountId,
    refundId: randomUUID(),
    amount: picoUsd(10n),
    reason: 'a "reason",\nin two lines',
  });
}

async function shut(): Promise<void> {
  await months.stop();
  await ledger.close();
}

function monthsAgo(count: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)).toISOString().slice(0, 7);
}

/** Makes three requests: one of `cost`, one that is open, and one that the reaper ended and that costs 7 when it is settled late. */
async function requests(cost: number): Promise<{ settled: string; late: string }> {
  const { accountId } = customer;
  const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: -120_000 } });
  const [settled, open, late] = [makeReserve(customer, 150n), makeReserve(customer, 5n), makeReserve(customer, 30n)];
  const price = { ...PRICE, cacheWritePicoUsd: '1' };
  for (const reserve of [settled, open, late]) await lanes.reserve({ ...reserve, price });
  await lanes.settle({ holdId: settled.holdId, accountId, reason: 'completed', usage: { ...makeUsage(cost), cacheWriteTokens: 3 } });
  await lanes.settle({ holdId: late.holdId, accountId, reason: 'lease-expired' });
  return { settled: settled.holdId, late: late.holdId };
}

const settleLate = (holdId: string) =>
  ledger
    .newLanes({ times: { leaseMs: 60_000, reaperGraceMs: -120_000 } })
    .settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: { ...makeUsage(7), cacheWrite1hTokens: 2 } });

/** Moves the rows of today, as if they had been written some months ago. */
async function moveBack(count: number): Promise<void> {
  const earlier = (column: string): string => `(${column} AT TIME ZONE 'UTC' - make_interval(months => ${count})) AT TIME ZONE 'UTC'`;
  await tamper(
    ...Object.entries({ settlement: 'settled_at', late_settlement: 'settled_at', movement: 'created_at' }).map(
      ([table, column]) => `UPDATE billing.${table} SET ${column} = ${earlier(column)} WHERE ${column} > now() - interval '1 day'`,
    ),
  );
}

/** Adds rows to the first month: two at each time, most of them at its end. */
async function addTombstones(count: number): Promise<void> {
  await ledger.sql.query(
    `INSERT INTO billing.settlement (hold_id, account_id, reason, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over, prompt_tokens,
       cached_tokens, output_tokens, reasoning_tokens, settled_at)
     SELECT gen_random_uuid(), $1, 'released', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
       '${FIRST}-28Z'::timestamptz - interval '20 days' * power((number / 2) / ${count / 2}::float8, 8)
     FROM generate_series(0, ${count - 1}) number`,
    [customer.accountId],
  );
}

/** Runs statements that triggers would refuse. */
async function tamper(...statements: string[]): Promise<void> {
  await ledger.sql.query('SET session_replication_role = replica');
  for (const statement of statements) await ledger.sql.query(statement);
  await ledger.sql.query('SET session_replication_role = DEFAULT');
}

async function violations(full = false, connection = ledger.sql): Promise<[invariant: string, subject: string][]> {
  const report = await checkLedger(connection, OVERDUE_MS, { full });
  return report.violations.map(({ invariant, subject }) => [invariant, subject]);
}

/** Returns what a scheduled and a full check find after a statement, and undoes it. */
async function foundAfter(statement: string): Promise<{ scheduled: [string, string][]; full: [string, string][] }> {
  const query = (text: string, values?: unknown[]) =>
    /^(BEGIN|COMMIT|ROLLBACK)/.test(text) ? Promise.resolve() : ledger.sql.query(text, values);
  const connection = { query } as unknown as PgConnection;
  await ledger.sql.query('BEGIN');
  try {
    await tamper(statement);
    return { scheduled: await violations(false, connection), full: await violations(true, connection) };
  } finally {
    await ledger.sql.query('ROLLBACK');
  }
}

async function readWhole(month: string, file: MonthFileName): Promise<string> {
  let text = monthFileHeader(file);
  let cursor: string | undefined;
  do {
    const page = await months.read({ month, file, ...(cursor !== undefined && { cursor }) });
    text += page.lines;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return text;
}

async function statement(month: string): Promise<Record<string, string>> {
  const [header = '', ...lines] = (await readWhole(month, 'statements')).trimEnd().split('\n');
  const line = lines.find((one) => one.startsWith(customer.accountId)) ?? '';
  return Object.fromEntries(header.split(',').map((name, index) => [name, line.split(',')[index] ?? '']));
}

const close = (month: string) => months.close(month, OWN_AUTHOR);

describe('two months', () => {
  beforeAll(open);
  afterAll(shut);

  test('each request, late settlement and movement counts in the month of its own time, and statements follow one another', async () => {
    const { late } = await requests(120);
    await moveBack(3);
    await close(FIRST);
    await settleLate(late);
    await moveBack(2);
    await requests(40);
    await ledger.closeUsage();
    await close(SECOND);
    const nothing = { topups: '0', grants: '0', credits: '0', refunds: '0', debits: '0', forfeited: '0', requests: '0' };
    const { accountId: account_id } = customer;
    expect([await statement(FIRST), await statement(SECOND)]).toEqual([
      {
        ...{ ...nothing, account_id, opening: '0', topups: '1000', grants: '100', refunds: '10', requests: '2', cost: '120' },
        ...{ closing: '970', topup_closing: '970', refundable: '990' },
      },
      { ...nothing, account_id, opening: '970', cost: '7', closing: '963', topup_closing: '963', refundable: '990' },
    ]);
    expect([await violations(), await violations(true)]).toEqual([[], []]);
    const report = await checkLedger(ledger.sql, OVERDUE_MS);
    expect(report.checked).toMatchObject({ settlements: 4, lateSettlements: 1 });
  });
});

describe('after a month was closed', () => {
  let settled: string;
  let live: string;
  beforeAll(async () => {
    await open();
    ({ settled } = await requests(120));
    await moveBack(3);
    await close(FIRST);
    ({ settled: live } = await requests(40));
  });
  afterAll(shut);

  test('every check finds a change of the rows since', async () => {
    const found = [
      ['I2', customer.accountId],
      ['I6', 'all accounts'],
      ['I9', live],
    ];
    expect(
      await foundAfter(`UPDATE billing.settlement SET cost = cost + 1, topup_cost = topup_cost + 1 WHERE hold_id = '${live}'`),
    ).toEqual({
      scheduled: found,
      full: found,
    });
  });

  test('a full check finds one flipped cost of the month; the scheduled one reads its sums alone', async () => {
    expect(
      await foundAfter(`UPDATE billing.settlement SET cost = cost - 1, topup_cost = topup_cost - 1 WHERE hold_id = '${settled}'`),
    ).toEqual({
      scheduled: [],
      full: [
        ['I2', customer.accountId],
        ['I6', 'all accounts'],
        ['I9', settled],
        ['I15', `${FIRST} settlements`],
        ['I20', `${FIRST} receipts of ${customer.accountId}`],
      ],
    });
  });

  test.each<[what: string, statement: () => string, found: string]>([
    ['a row that is gone', () => `DELETE FROM billing.settlement WHERE hold_id = '${settled}'`, 'settlements'],
    ['a changed movement', () => `UPDATE billing.movement SET reason = 'other' WHERE kind = 'refund'`, 'movements'],
    [
      'a row that moved to another month',
      () => `UPDATE billing.settlement SET settled_at = now() WHERE hold_id = '${settled}'`,
      'settlements',
    ],
  ])('a full check finds %s', async (_, statement, found) => {
    expect((await foundAfter(statement())).full).toContainEqual(['I15', `${FIRST} ${found}`]);
  });

  test.each<[what: string, statement: string, found: string]>([
    ['changed sums', 'UPDATE billing.month_account SET opening = opening + 1, closing = closing + 1', 'statements'],
    ['a changed grant', 'UPDATE billing.month_grant SET gone = 99', 'grants'],
    ['a changed manifest', `UPDATE billing.month SET manifest = replace(manifest, 'settlements.csv 2', 'settlements.csv 1')`, 'manifest'],
    ['a manifest that is none', `UPDATE billing.month SET manifest = ''`, 'manifest'],
    ['a month that is gone', 'DELETE FROM billing.month', 'is missing'],
  ])('every check finds %s', async (_, statement, found) => {
    expect((await foundAfter(statement)).scheduled).toContainEqual(['I15', `${FIRST} ${found}`]);
  });

  test('none is added without an audit row', async () => {
    await expect(ledger.sql.query(`INSERT INTO billing.month (id, manifest) VALUES ('2026-01', '')`)).rejects.toMatchObject({
      constraint: 'month_is_audited',
    });
  });

  test('a row that a clock set back puts into it belongs to the next month', async () => {
    await tamper(`UPDATE billing.settlement SET settled_at = settled_at - (now() - '${FIRST}-20Z'::timestamptz) WHERE hold_id = '${live}'`);
    expect([await violations(), await violations(true)]).toEqual([[], []]);
    await close(SECOND);
    expect(await readWhole(SECOND, 'settlements')).toContain(live);
    expect([await violations(), await violations(true)]).toEqual([[], []]);
  });
});

describe('a month is not closed', () => {
  const conflict = (message: string) => expect.objectContaining({ code: 'conflict', message: expect.stringContaining(message) });
  let settled: string;
  beforeAll(async () => {
    await open();
    ({ settled } = await requests(120));
    await moveBack(3);
  });
  afterAll(shut);

  test('while it is not over', async () => {
    await expect(close(monthsAgo(0))).rejects.toEqual(conflict('The month can be closed from'));
  });

  test('while the ledger is inconsistent', async () => {
    const setTokens = (count: number) => tamper(`UPDATE billing.settlement SET output_tokens = ${count} WHERE hold_id = '${settled}'`);
    await setTokens(1);
    await expect(close(FIRST)).rejects.toEqual(conflict('violations of I9'));
    await setTokens(0);
  });

  test('before the transactions have ended that were running', async () => {
    const slow = await connectPg({ url: ledger.ownerUrl, applicationName: 'test-slow' });
    await slow.query('BEGIN');
    await slow.query('SELECT pg_current_xact_id()');
    const log: string[] = [];
    const closing = close(FIRST).then(() => log.push('closed'));
    while (!(await isWaiting()) && log.length === 0) await new Promise((resolve) => setImmediate(resolve));
    log.push('the transaction ends');
    await slow.end();
    await closing;
    expect(log).toEqual(['the transaction ends', 'closed']);
  });

  test('before the month before', async () => {
    await expect(close(monthsAgo(1))).rejects.toEqual(conflict(`The next month to close is ${SECOND}.`));
  });

  const isWaiting = async (): Promise<boolean> =>
    (
      await ledger.sql.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'test-months' AND datname = current_database() AND state = 'idle'
           AND query LIKE '%pg_snapshot_xmin%'`,
      )
    ).rowCount === 1;
});

test('a month is closed three days after its end, one at a time', async () => {
  await open();
  await requests(120);
  await moveBack(3);
  const dueAt = Date.parse(`${SECOND}-04T00:00:00Z`);
  const closeDue = async (now: number) => (await months.closeDue(OWN_AUTHOR, now))?.month;
  expect([await closeDue(dueAt - 1), await closeDue(dueAt), await closeDue(dueAt)]).toEqual([undefined, FIRST, undefined]);
  expect(await closeDue(Date.now())).toBe(SECOND);
  await shut();
});

test('in a database without money no month is due', async () => {
  ledger = await LedgerFixture.open({ guarded: true });
  months = new Months({ connect: () => connectPg({ url: ledger.url, applicationName: 'test-months' }), prisma: ledger.prisma });
  expect(await months.closeDue(OWN_AUTHOR)).toBeUndefined();
  await shut();
});

describe('closing a month', () => {
  beforeAll(async () => {
    await open();
    await requests(120);
    await moveBack(3);
    await addTombstones(4_500);
  });
  afterAll(shut);

  test.each([
    'INSERT INTO billing.month_account',
    'FROM billing.month_grant WHERE',
    'INSERT INTO billing.month (',
    'record_audit',
    'COMMIT',
  ])('a service that dies at %s leaves nothing', async (statement) => {
    await expect(new Months({ connect: () => dyingAt(statement), prisma: ledger.prisma }).close(FIRST, OWN_AUTHOR)).rejects.toThrow();
    const { rows } = await ledger.sql.query(
      `SELECT (SELECT count(*)::int FROM billing.month) AS months, (SELECT count(*)::int FROM billing.month_account) AS accounts,
           (SELECT count(*)::int FROM billing.audit WHERE action = 'month.close') AS audited`,
    );
    expect(rows).toEqual([{ months: 0, accounts: 0, audited: 0 }]);
  });

  test('it is closed once: its files have the digests of its manifest, and a repeated call replies the same', async () => {
    const { settled, late } = await requests(120);
    await settleLate(late);
    await moveBack(3);
    const { closed, ...month } = await close(FIRST);
    expect([closed, await close(FIRST), await months.list()]).toEqual([
      true,
      { ...month, closed: false },
      { months: [month], detached: [] },
    ]);
    expect(month).toMatchObject({ month: FIRST, digest: createHash('sha256').update(month.manifest).digest('hex') });
    for (const file of MONTH_FILE_NAMES) {
      const text = await readWhole(FIRST, file);
      expect(month.files).toContainEqual({ file, rows: expect.any(Number), sha256: createHash('sha256').update(text).digest('hex') });
      expect(await readWhole(FIRST, file)).toBe(text);
    }
    expect(await readWhole(FIRST, 'movements')).toContain(',"a ""reason"",\nin two lines",');
    const [ofSettled, ofLate] = [`${settled},${customer.accountId},3,,1,,`, `${late},${customer.accountId},,2,`];
    expect((await readWhole(FIRST, 'cache-writes')).split('\n')).toContainEqual(expect.stringContaining(ofSettled));
    expect((await readWhole(FIRST, 'late-cache-writes')).split('\n')).toContainEqual(expect.stringContaining(ofLate));
    expect(await readWhole(FIRST, 'grants')).toBe(`${monthFileHeader('grants')}${grantId},${customer.accountId},100,100,false\n`);
  });
});

/** Opens a connection whose session ends before the first statement that contains `text`. */
async function dyingAt(text: string): Promise<PgConnection> {
  const connection = await connectPg({ url: ledger.url, applicationName: 'test-dying' });
  const query = connection.query.bind(connection) as (sql: string, values?: unknown[]) => Promise<unknown>;
  connection.query = (async (sql: string, values?: unknown[]) => {
    if (sql.includes(text)) await query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
    return query(sql, values);
  }) as unknown as typeof connection.query;
  return connection;
}
