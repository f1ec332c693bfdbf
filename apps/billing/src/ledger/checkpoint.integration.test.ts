import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { closeMonth } from '../months/close-month.js';
import { checkLedger } from './check-ledger.js';
import { INVARIANTS } from './invariants.js';

const OVERDUE_MS = 10 * 365 * 24 * 3_600_000;
const MONTH = monthsAgo(2);

let ledger: LedgerFixture;
let customer: Customer;
beforeEach(async () => {
  ledger = await LedgerFixture.open();
  customer = await ledger.customer({ topup: 1_000_000n });
});
afterEach(() => ledger.close());

function monthsAgo(count: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)).toISOString().slice(0, 7);
}

/** Makes a request that costs 10. Returns the id of its hold. */
async function request(): Promise<string> {
  const reserve = makeReserve(customer, 100n);
  const lanes = ledger.newLanes();
  await lanes.reserve(reserve);
  await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(10) });
  return reserve.holdId;
}

type Check = () => ReturnType<typeof checkLedger>;
const scheduled: Check = () => checkLedger(ledger.sql, OVERDUE_MS, { scheduled: true });
const requested: Check = () => checkLedger(ledger.sql, OVERDUE_MS);
const full: Check = () => checkLedger(ledger.sql, OVERDUE_MS, { full: true });
const found = async (check: Check) => [...new Set((await check()).violations.map(({ invariant }) => invariant))];

/** Checks until the checkpoint is after all that was written before: transactions in other databases of the server delay it. */
async function passCheckpoint(): Promise<void> {
  const { rows } = await ledger.sql.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  const isPassed = 'SELECT transaction_end > $1::bigint AS passed FROM billing.checkpoint';
  do expect((await scheduled()).violations).toEqual([]);
  while (!(await ledger.sql.query<{ passed: boolean }>(isPassed, [rows[0]?.id])).rows[0]?.passed);
}

async function readMadeAt(): Promise<string | undefined> {
  const { rows } = await ledger.sql.query<{ madeAt: string }>('SELECT made_at::text AS "madeAt" FROM billing.checkpoint');
  return rows[0]?.madeAt;
}

/** Runs statements that triggers would refuse. */
async function tamper(...statements: string[]): Promise<void> {
  await ledger.sql.query('SET session_replication_role = replica');
  for (const statement of statements) await ledger.sql.query(statement);
  await ledger.sql.query('SET session_replication_role = DEFAULT');
}

/** Changes a cost and what it was paid from. */
const flip = (holdId: string) =>
  tamper(`UPDATE billing.settlement SET cost = cost - 1, topup_cost = topup_cost - 1 WHERE hold_id = '${holdId}'`);

const OF_COST = ['I2', 'I6', 'I9'];

test('a check from the checkpoint counts all rows, leaves out what needs the whole month, and makes no younger checkpoint', async () => {
  await request();
  await passCheckpoint();
  await request();
  const madeAt = await readMadeAt();
  const [ofScheduled, ofRequested] = [await scheduled(), await requested()];
  expect(await readMadeAt()).toBe(madeAt);
  const needWholeMonth = INVARIANTS.filter(({ needsWholeMonth }) => needsWholeMonth).map(({ id }) => id);
  expect(needWholeMonth).toEqual(['I12', 'I14', 'I17', 'I19']);
  expect(ofScheduled).toEqual({
    ...ofRequested,
    checkedAt: expect.any(String),
    milliseconds: expect.any(Number),
    invariants: ofRequested.invariants.filter(({ id }) => !needWholeMonth.includes(id)),
  });
});

test.each([
  ['its cost', 'cost = cost - 1, topup_cost = topup_cost - 1', OF_COST, 'cost = cost + 1, topup_cost = topup_cost + 1'],
  ['its usage alone', 'output_tokens = output_tokens + 1', ['I9'], 'output_tokens = output_tokens - 1'],
])('a request after the checkpoint is found when %s was changed, as long as it is wrong', async (_, change, broken, repair) => {
  await passCheckpoint();
  const holdId = await request();
  await tamper(`UPDATE billing.settlement SET ${change} WHERE hold_id = '${holdId}'`);
  expect([await found(scheduled), await found(scheduled)]).toEqual([broken, broken]);
  await tamper(`UPDATE billing.settlement SET ${repair} WHERE hold_id = '${holdId}'`);
  expect(await found(scheduled)).toEqual([]);
});

test('a cost that is changed before the checkpoint is found by a requested and a full check, not by a scheduled one', async () => {
  const holdId = await request();
  await passCheckpoint();
  await flip(holdId);
  expect([await found(scheduled), await found(requested), await found(full)]).toEqual([[], OF_COST, OF_COST]);
});

test('and its month is not closed', async () => {
  const holdId = await request();
  await tamper(`UPDATE billing.settlement SET settled_at = '${MONTH}-20Z'`, `UPDATE billing.movement SET created_at = '${MONTH}-20Z'`);
  await passCheckpoint();
  await flip(holdId);
  expect(await found(scheduled)).toEqual([]);
  await expect(closeMonth(ledger.sql, MONTH, { author: OWN_AUTHOR })).rejects.toThrow('violations of I2, I6, I9');
});

test.each([
  ['balance', `UPDATE billing.account SET topup = topup - 1`, ['I2', 'I6']],
  ['counter', `UPDATE billing.account SET open_holds = open_holds + 1`, ['I1']],
])('a wrong %s is found, whenever it was changed', async (_, statement, broken) => {
  await request();
  await passCheckpoint();
  await tamper(statement);
  expect(await found(scheduled)).toEqual(broken);
});

test.each([
  ['sum', 'UPDATE billing.checkpoint_account SET topup_closing = topup_closing + 1'],
  ['end', 'UPDATE billing.checkpoint SET transaction_end = 0'],
])('a wrong %s of the checkpoint freezes nobody: the rows are read, and the checkpoint is made anew', async (_, statement) => {
  await request();
  await passCheckpoint();
  const sums = 'SELECT * FROM billing.checkpoint_account';
  const { rows } = await ledger.sql.query(sums);
  await tamper(statement);
  expect(await found(scheduled)).toEqual([]);
  expect((await ledger.sql.query(sums)).rows).toEqual(rows);
});

test('a row whose transaction was running is read after it has ended', async () => {
  const late = await ledger.connect();
  await late.query('BEGIN');
  await late.query(
    `INSERT INTO billing.settlement (hold_id, account_id, project_id, reason, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over, prompt_tokens,
       cached_tokens, output_tokens, reasoning_tokens, settled_at)
     VALUES (gen_random_uuid(), $1, $2, 'released', 5, 5, 0, 0, 0, 5, 0, 0, 0, 0, 0, now())`,
    [customer.accountId, customer.projectId],
  );
  expect(await found(scheduled)).toEqual([]);
  const madeAt = await readMadeAt();
  await request();
  expect([await found(scheduled), await found(scheduled)]).toEqual([[], []]);
  expect(await readMadeAt()).toBe(madeAt);
  await late.query('COMMIT');
  expect(await found(scheduled)).toEqual(OF_COST);
});

test.each([
  ['of another cluster', 'system_identifier = system_identifier + 1'],
  ['of the month before', `month = '2020-01'`],
  ['that is a day old', `made_at = made_at - interval '1 day'`],
])('a checkpoint %s is not used', async (_, change) => {
  const holdId = await request();
  await passCheckpoint();
  await flip(holdId);
  await tamper(`UPDATE billing.checkpoint SET ${change}`);
  expect([await found(scheduled), await found(scheduled)]).toEqual([OF_COST, OF_COST]);
});

test('after a month is closed the sums are made anew from those of the month', async () => {
  const holdId = await request();
  await tamper(`UPDATE billing.settlement SET settled_at = '${MONTH}-20Z'`, `UPDATE billing.movement SET created_at = '${MONTH}-20Z'`);
  await passCheckpoint();
  await closeMonth(ledger.sql, MONTH, { author: OWN_AUTHOR });
  await request();
  await passCheckpoint();
  const { rows } = await ledger.sql.query(
    `SELECT c.month, c.settlements::int, a.closing::text FROM billing.checkpoint c, billing.checkpoint_account a`,
  );
  expect(rows).toEqual([{ month: MONTH, settlements: 2, closing: '999980' }]);
  await flip(holdId);
  expect([await found(scheduled), await found(requested), await found(full)]).toEqual([[], [], ['I2', 'I6', 'I9', 'I15', 'I20']]);
});
