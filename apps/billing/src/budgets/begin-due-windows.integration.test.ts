import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Customer, LedgerFixture, makeReserve, TIMES } from '../../test/ledger-fixture.js';
import { windowAt } from '../calendar/budget-window.js';
import { Reaper } from '../holds/reaper.js';
import { beginDueWindows } from './begin-due-windows.js';
import { setBudget } from './budgets.js';

const DAY_MS = 86_400_000;

const ledger = await LedgerFixture.open();
const connection = await ledger.connect();
afterAll(() => ledger.close());

/** Adds a budget of 100 whose window was the day before yesterday, in which 70 were spent. Returns its id. */
async function overdue(
  { accountId, projectId }: Customer,
  { unit = 'usd', dimension, timeZone = 'UTC' }: { unit?: 'usd' | 'tokens'; dimension?: string; timeZone?: string } = {},
): Promise<string> {
  const { windowStart, windowEnd } = windowAt('day', 'UTC', Date.now() - 2 * DAY_MS);
  const budgetId = randomUUID();
  await ledger.sql.query(
    `INSERT INTO billing.budget (id, account_id, project_id, period, time_zone, limit_amount, spent, held, window_start, window_end, unit,
       dimension, thresholds) VALUES ($1, $2, $3, 'day', $9, 100, $4, 0, $5, $6, $7, $8, '{}')`,
    [budgetId, accountId, projectId, dimension ? 0 : 70, new Date(windowStart), new Date(windowEnd), unit, dimension, timeZone],
  );
  return budgetId;
}

function today(): { windowStart: string; resetsAt: string } {
  const { windowStart, windowEnd } = windowAt('day', 'UTC', Date.now());
  return { windowStart: new Date(windowStart).toISOString(), resetsAt: new Date(windowEnd).toISOString() };
}

async function events({ accountId }: Customer): Promise<unknown[]> {
  const sql = `SELECT kind, payload FROM billing.money_event WHERE account_id = $1 ORDER BY sequence`;
  return (await ledger.sql.query(sql, [accountId])).rows;
}

test('the reaper begins the next window without a request, and once', async () => {
  const customer = await ledger.customer({ topup: 100n });
  const budgetId = await overdue(customer);
  const options = { connect: ledger.connect, lanes: ledger.newLanes(), times: TIMES, intervalMs: 60_000, sweepIntervalMs: 0 };
  const reaper = new Reaper({ ...options, renewalsArrive: async () => true, logger: ledger.logger });
  // The first round only extends leases.
  for (let round = 0; round < 3; round++) await reaper.tick();
  await reaper.stop();
  const of = { budgetId, projectId: customer.projectId, keyId: null, period: 'day' };
  const payload = { ...of, limitPicoUsd: '100', spentPicoUsd: '70', ...today() };
  expect(await events(customer)).toEqual([{ kind: 'budget-reset', payload }]);
  const { rows } = await ledger.sql.query('SELECT spent::text, held::text, window_start FROM billing.budget WHERE id = $1', [budgetId]);
  expect(rows).toEqual([{ spent: '0', held: '0', window_start: new Date(today().windowStart) }]);
});

test('one that a request has begun has its event from there', async () => {
  const customer = await ledger.customer({ topup: 100n });
  await overdue(customer, { unit: 'tokens' });
  expect(await ledger.newLanes().reserve(makeReserve(customer, 10n))).toMatchObject({ status: 'held' });
  await beginDueWindows(connection);
  expect(await events(customer)).toMatchObject([{ kind: 'budget-reset', payload: { limitTokens: 100, spentTokens: 70 } }]);
});

test('a budget of users and one whose windows an operator changes have no such event', async () => {
  const customer = await ledger.customer({ topup: 100n });
  const { accountId, projectId } = customer;
  await overdue(customer, { dimension: 'user' });
  await beginDueWindows(connection);
  const reserve = { ...makeReserve(customer, 10n), attribution: { user: 'alice' } };
  expect(await ledger.newLanes().reserve(reserve)).toMatchObject({ status: 'held' });
  await overdue(customer);
  await setBudget(ledger.prisma, { accountId, projectId, period: 'day', timeZone: 'Asia/Tokyo', limitPicoUsd: '100' });
  await beginDueWindows(connection);
  expect(await events(customer)).toEqual([]);
});

test('what a request spends in the new window meanwhile stays', async () => {
  const customer = await ledger.customer({ topup: 100n });
  const budgetId = await overdue(customer);
  await ledger.sql.query('BEGIN');
  await ledger.sql.query('SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE', [customer.accountId]);
  const begun = beginDueWindows(connection);
  // On another connection: inside a transaction the server answers with the activity of the first look.
  const waiting = () => ledger.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await waiting()).length === 0) await delay(5);
  const { windowStart, resetsAt } = today();
  await ledger.sql.query('UPDATE billing.budget SET spent = 5, window_start = $2, window_end = $3 WHERE id = $1', [
    budgetId,
    windowStart,
    resetsAt,
  ]);
  await ledger.sql.query('COMMIT');
  await begun;
  expect((await ledger.sql.query('SELECT spent::text FROM billing.budget WHERE id = $1', [budgetId])).rows).toEqual([{ spent: '5' }]);
  expect(await events(customer)).toMatchObject([{ kind: 'budget-reset' }]);
});

/** The last one: the broken budget stays. */
test('an account that fails holds up no other', async () => {
  const customers = [await ledger.customer({ topup: 100n }), await ledger.customer({ topup: 100n })];
  // Accounts come in the order of their ids.
  const [broken, customer] = customers.toSorted((one, other) => (one.accountId < other.accountId ? -1 : 1)) as [Customer, Customer];
  await overdue(broken, { timeZone: 'Nowhere' });
  await overdue(customer);
  await expect(beginDueWindows(connection)).rejects.toThrow(`beginning the windows of account ${broken.accountId} failed`);
  expect(await events(customer)).toMatchObject([{ kind: 'budget-reset' }]);
});
