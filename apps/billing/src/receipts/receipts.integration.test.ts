import type { BilledRequest } from '#contracts/billing/requests.js';
import { connectPg } from '#database/pg-connection.js';
import { parsePublishedKeys } from '#receipts/published-keys.js';
import { SigningKey } from '#receipts/signing-key.js';
import { ReceiptVerifier, type VerifiedMonth } from '#receipts/verify-receipts.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, PRICE } from '../../test/ledger-fixture.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { showRequest } from '../holds/show-request.js';
import { findMonthRows, readMonths } from '../journal/closed-months.js';
import { MONTHS_RULE, monthFaults } from '../journal/month-faults.js';
import { queryOn } from '../journal/month-files.js';
import { RECEIPTS_RULE, receiptFaults } from '../journal/receipt-faults.js';
import { growTrees, PART_RECEIPTS } from '../journal/receipt-trees.js';
import { checkLedger } from '../ledger/check-ledger.js';
import { Months } from '../months/months.js';
import { Receipts } from './receipts.js';

/** Months are closed two and three months after their rows, so that the time of the test does not matter. */
const [FIRST, SECOND] = [monthsAgo(3), monthsAgo(2)];
const OVERDUE_MS = 10 * 365 * 24 * 3_600_000;
/** More than a part. */
const MANY = PART_RECEIPTS + 300;

let ledger: LedgerFixture;
let months: Months;
let receipts: Receipts;
let busy: Customer;
let quiet: Customer;
let settled: string;
let late: string;

beforeAll(async () => {
  ledger = await LedgerFixture.open({ guarded: true });
  months = new Months({ connect: () => connectPg({ url: ledger.url, applicationName: 'test-months' }), prisma: ledger.prisma });
  receipts = new Receipts(ledger.prisma, new SigningKey('7'.repeat(64)));
  [busy, quiet] = [await ledger.customer({ topup: 10_000n }), await ledger.customer({ topup: 1_000n })];
  await ledger.customer({ topup: 5n }); // has no request: no receipts
  ({ settled, late } = await requests());
  await addSettlements(MANY);
  await moveBack(3);
  await months.close(FIRST, OWN_AUTHOR);
  const times = { leaseMs: 60_000, reaperGraceMs: -120_000 };
  await ledger.newLanes({ times }).settle({ holdId: late, accountId: quiet.accountId, reason: 'completed', usage: makeUsage(7) });
  await moveBack(2);
  await months.close(SECOND, OWN_AUTHOR);
});
afterAll(async () => {
  await months.stop();
  await ledger.close();
});

function monthsAgo(count: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)).toISOString().slice(0, 7);
}

/** Makes two requests of the quiet account: one that costs 120, and one that the reaper ended. */
async function requests(): Promise<{ settled: string; late: string }> {
  const { accountId } = quiet;
  const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: -120_000 } });
  const [one, other] = [makeReserve(quiet, 150n), makeReserve(quiet, 30n)];
  for (const reserve of [one, other]) await lanes.reserve({ ...reserve, price: { ...PRICE, cacheWritePicoUsd: '1' } });
  await lanes.settle({ holdId: one.holdId, accountId, reason: 'completed', usage: { ...makeUsage(120), cacheWriteTokens: 3 } });
  await lanes.settle({ holdId: other.holdId, accountId, reason: 'lease-expired' });
  return { settled: one.holdId, late: other.holdId };
}

/** Adds settlements of the busy account: each costs 1, some at the same time. */
async function addSettlements(count: number): Promise<void> {
  await ledger.sql.query(
    `INSERT INTO billing.settlement (hold_id, account_id, project_id, key_id, request_id, model, reason, held, cost, plan_cost, ended_cost, forfeit,
       topup_cost, over, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, prompt_source, output_source, price_version, input_price,
       cached_input_price, output_price, reserved_at, settled_at)
     SELECT gen_random_uuid(), $1, $2, $3, 'req-' || number, 'sim-"fast"', 'completed', 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 'reported', 'reported', 1, 1, 0,
       2, now(), now() - interval '1 hour' * (number / 3) / ${count} FROM generate_series(1, ${count}) number`,
    [busy.accountId, busy.projectId, busy.keyId],
  );
  await tamper(`UPDATE billing.account SET topup = topup - ${count} WHERE id = '${busy.accountId}'`);
  await ledger.closeUsage();
}

/** Moves the rows of today, as if they had been written some months ago. */
async function moveBack(count: number): Promise<void> {
  const earlier = (column: string): string => `(${column} AT TIME ZONE 'UTC' - make_interval(months => ${count})) AT TIME ZONE 'UTC'`;
  await tamper(
    ...Object.entries({ settlement: 'settled_at', late_settlement: 'settled_at', movement: 'created_at' }).map(
      ([table, column]) => `UPDATE billing.${table} SET ${column} = ${earlier(column)} WHERE ${column} > now() - interval '2 days'`,
    ),
    'TRUNCATE billing.usage_hour, billing.usage_day',
    'UPDATE billing.usage_state SET closed_to = 0',
  );
  await ledger.closeUsage();
}

/** Runs statements that triggers would refuse. */
async function tamper(...statements: string[]): Promise<void> {
  await ledger.sql.query('SET session_replication_role = replica');
  for (const statement of statements) await ledger.sql.query(statement);
  await ledger.sql.query('SET session_replication_role = DEFAULT');
}

/** Returns what the checks find after a statement, and undoes it. */
async function foundAfter(...statements: string[]): Promise<{ scheduled: string[]; full: string[] }> {
  const query = queryOn(ledger.sql);
  const found = async (full: boolean) => [
    ...(await monthFaults(query, { full })).map((fault) => `${MONTHS_RULE.id} ${fault}`),
    ...(await receiptFaults(query, { full })).map((fault) => `${RECEIPTS_RULE.id} ${fault}`),
  ];
  await ledger.sql.query('BEGIN');
  try {
    await tamper(...statements);
    return { scheduled: await found(false), full: await found(true) };
  } finally {
    await ledger.sql.query('ROLLBACK');
  }
}

async function readWhole(accountId: string, month: string): Promise<string> {
  let file = '';
  let cursor: string | undefined;
  do {
    const page = await receipts.list(ledger.prisma, { accountId, month, ...(cursor !== undefined && { cursor }) });
    file += page.lines;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return file;
}

async function verify(file: string, keys: Receipts = receipts): Promise<VerifiedMonth[]> {
  const verifier = new ReceiptVerifier(parsePublishedKeys(JSON.stringify(await keys.listKeys())));
  for (const line of file.trimEnd().split('\n')) verifier.add(Buffer.from(line));
  return verifier.finish();
}

const show = async (holdId: string, from: Receipts = receipts) => {
  const { requestId } = await ledger.prisma.settlement.findUniqueOrThrow({ where: { holdId } });
  return from.show(ledger.prisma, await showRequest(ledger.prisma, requestId ?? ''));
};

test('all receipts of an account are those that its statement counts, page by page', async () => {
  const [busyMonth] = await verify(await readWhole(busy.accountId, FIRST));
  expect(busyMonth).toMatchObject({ receipts: MANY, requests: BigInt(MANY), costPicoUsd: BigInt(MANY), isWhole: true, isPublished: true });
  const [first] = await verify(await readWhole(quiet.accountId, FIRST));
  expect(first).toMatchObject({ accountId: quiet.accountId, receipts: 2, requests: 2n, lateSettlements: 0n, costPicoUsd: 120n });
  const [second] = await verify(await readWhole(quiet.accountId, SECOND));
  expect(second).toMatchObject({ receipts: 1, requests: 0n, lateSettlements: 1n, costPicoUsd: 7n });
  const statement = await receipts.sumUp(quiet.accountId, SECOND);
  expect(statement).toEqual({ requests: 0, lateSettlements: 1, costPicoUsd: '7', root: second?.root, digest: second?.digest });
  const closed = await months.list();
  expect(second?.digest).toBe(closed.months[0]?.digest);
});

test('a receipt of each part leads to the same root, and one of a late settlement to the root of its own month', async () => {
  const rows = (await readWhole(busy.accountId, FIRST)).split('\n').slice(4, -1);
  for (const index of [0, PART_RECEIPTS - 1, PART_RECEIPTS, MANY - 1]) {
    const { hold_id } = JSON.parse(rows[index] ?? '') as { hold_id: string };
    const { file, months } = await show(hold_id);
    expect(months).toEqual([FIRST]);
    expect(await verify(file)).toMatchObject([{ accountId: busy.accountId, receipts: 1, amountPicoUsd: 1n, isWhole: false }]);
  }
  const { file, ...about } = await show(late);
  expect(about).toEqual({ requestId: `req-${late}`, ...quiet, months: [FIRST, SECOND] });
  expect(await verify(file)).toMatchObject([
    { month: FIRST, receipts: 1, amountPicoUsd: 0n },
    { month: SECOND, receipts: 1, amountPicoUsd: 7n },
  ]);
});

test('a receipt says what the request used and cost', async () => {
  const { file } = await show(settled);
  expect(JSON.parse(file.split('\n')[4] ?? '')).toEqual({
    ...{ type: 'receipt', kind: 'settlement', request_id: `req-${settled}`, hold_id: settled, account_id: quiet.accountId },
    ...{
      project_id: quiet.projectId,
      key_id: quiet.keyId,
      settled_at: expect.stringMatching(`^${FIRST}-.*\\.\\d{6}Z$`),
      model: 'sim-fast',
    },
    ...{ ending: 'completed', prompt_tokens: 120, cached_tokens: 0, cache_write_tokens: 3, output_tokens: 0, reasoning_tokens: 0 },
    price_version: 1,
    price: { input_pico_usd: '1', cached_input_pico_usd: '0', output_pico_usd: '2', cache_write_pico_usd: '1' },
    amount_pico_usd: '120',
  });
});

test('the same month gives the same roots, also when few accounts grow at once', async () => {
  const query = queryOn(ledger.sql);
  const rows = findMonthRows(await readMonths(query), 0);
  if (!rows) throw new Error('the month is not closed');
  const stored = await ledger.prisma.monthReceipt.findMany({ where: { month: FIRST }, orderBy: { accountId: 'asc' } });
  for (const atOnce of [1, 20_000]) {
    const grown = await growTrees(query, rows, undefined, atOnce);
    expect(grown.map(({ accountId, root }) => [accountId, root.toString('hex')])).toEqual(
      stored.map(({ accountId, root }) => [accountId, root]),
    );
  }
});

test('before a month is closed, without a key, and for what has none, there is no receipt', async () => {
  const open = makeReserve(quiet, 5n);
  await ledger.newLanes().reserve(open);
  const running = await showRequest(ledger.prisma, open.requestId);
  await expect(receipts.show(ledger.prisma, running)).rejects.toMatchObject({ code: 'conflict', param: 'requestId' });
  const list = (accountId: string, month: string, from = receipts) => from.list(ledger.prisma, { accountId, month });
  await expect(list(quiet.accountId, monthsAgo(0))).rejects.toMatchObject({ code: 'not_found', param: 'month' });
  await expect(list(busy.accountId, SECOND)).rejects.toMatchObject({
    code: 'not_found',
    message: 'The account has no receipts for this month.',
  });
  expect(await receipts.sumUp(busy.accountId, SECOND)).toBeNull();
});

test('a new key signs the closed months too, and files of the old one stay valid', async () => {
  const { file: old } = await show(settled);
  const next = new Receipts(ledger.prisma, new SigningKey('8'.repeat(64)));
  const { file } = await show(settled, next);
  expect(await verify(old, next)).toMatchObject([{ key: new SigningKey('7'.repeat(64)).id }]);
  expect(await verify(file, next)).toMatchObject([{ key: new SigningKey('8'.repeat(64)).id }]);
  const { keys, months } = await next.listKeys();
  expect([keys.length, months.map(({ signatures }) => signatures.length)]).toEqual([2, [2, 2]]);
  // Without a key the last one that signed counts.
  const without = new Receipts(ledger.prisma, undefined);
  expect(await verify((await show(settled, without)).file)).toMatchObject([{ month: FIRST }]);
});

describe('the ledger check', () => {
  const account = () => quiet.accountId;

  test('finds nothing in what was closed', async () => {
    expect(await foundAfter()).toEqual({ scheduled: [], full: [] });
    const { invariants, violations } = await checkLedger(ledger.sql, OVERDUE_MS, { full: true });
    expect(violations).toEqual([]);
    expect(invariants).toContainEqual({ ...RECEIPTS_RULE, violations: 0 });
  });

  test.each<[what: string, statements: () => string[], scheduled: string[], full: string[]]>([
    [
      'a settlement that is gone from the journal',
      () => [`DELETE FROM billing.settlement WHERE hold_id = '${settled}'`],
      [],
      [`I15 ${FIRST} settlements`, `I20 ${FIRST} receipts of $ACCOUNT`],
    ],
    [
      'a settlement with another model',
      () => [`UPDATE billing.settlement SET model = 'other' WHERE hold_id = '${settled}'`],
      [],
      [`I20 ${FIRST} receipts of $ACCOUNT`],
    ],
    [
      'a count that was changed',
      () => [`UPDATE billing.month_receipt SET requests = 1, cost = 0 WHERE account_id = '${account()}' AND month = '${SECOND}'`],
      [`I15 ${SECOND} receipts`, `I20 ${SECOND} line`, `I20 ${SECOND} receipts of $ACCOUNT`],
      [`I20 ${SECOND} receipts of $ACCOUNT`],
    ],
    [
      'an account that was left out',
      () => [`DELETE FROM billing.month_receipt WHERE account_id = '${account()}' AND month = '${FIRST}'`],
      [],
      [`I15 ${FIRST} receipts`, `I20 ${FIRST} line`, `I20 ${FIRST} receipts of $ACCOUNT`],
    ],
    [
      'a line that was changed',
      () => [`UPDATE billing.month_line SET line = replace(line, '${SECOND}', '2020-01') WHERE month = '${SECOND}'`],
      [`I20 ${SECOND} line`],
      [`I20 ${SECOND} line`],
    ],
    [
      'a line that is gone',
      () => [`DELETE FROM billing.month_line WHERE month = '${FIRST}'`],
      [`I20 ${FIRST} line`],
      [`I20 ${FIRST} line`],
    ],
    [
      'a month that was closed twice',
      () => [
        `INSERT INTO billing.audit (id, at, actor, action, target, after) SELECT gen_random_uuid(), now(), actor, action, target, after
         FROM billing.audit WHERE target = 'month/${SECOND}'`,
      ],
      [`I15 ${SECOND} closed twice`],
      [`I15 ${SECOND} closed twice`],
    ],
  ])('finds %s', async (_, statements, scheduled, full) => {
    const name = (faults: string[]) => faults.map((fault) => fault.replace('$ACCOUNT', account()));
    const found = await foundAfter(...statements());
    expect(found.scheduled).toEqual(expect.arrayContaining(name(scheduled)));
    expect(found.full).toEqual(expect.arrayContaining(name(full)));
    if (scheduled.length === 0) expect(found.scheduled).toEqual([]);
  });

  test('no receipt is made of a part that was changed', async () => {
    const holdId = settled;
    const before: BilledRequest = await showRequest(ledger.prisma, `req-${holdId}`);
    await tamper(`UPDATE billing.settlement SET model = 'other' WHERE hold_id = '${late}'`);
    await expect(receipts.show(ledger.prisma, before)).rejects.toMatchObject({
      code: 'conflict',
      message: `${FIRST} is not what was closed: run the full ledger check.`,
    });
    await tamper(`UPDATE billing.settlement SET model = 'sim-fast' WHERE hold_id = '${late}'`);
    expect((await receipts.show(ledger.prisma, before)).months).toEqual([FIRST]);
  });
});

test('rows of journals of closed months, lines and signatures are never changed', async () => {
  for (const table of ['installation', 'month_receipt', 'month_receipt_part', 'month_line', 'month_signature', 'receipt_key']) {
    await expect(ledger.sql.query(`DELETE FROM billing.${table}`)).rejects.toThrow();
  }
});
