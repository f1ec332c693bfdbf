import type { PgConnection } from '#database/pg-connection.js';
import { inTransaction } from '../sql/transaction.js';
import { type BudgetRow, budgetColumns, budgetState } from './budget.js';
import { inCurrentWindow } from './read-budgets.js';

/** Accounts of one call: with four round trips each, they take the reaper that calls less than a second. */
const ACCOUNTS_MAX = 200;

const READ_DUE = `SELECT DISTINCT account_id FROM (
    SELECT account_id FROM billing.budget WHERE dimension IS NULL AND window_end <= clock_timestamp() ORDER BY window_end LIMIT $1) due
  ORDER BY account_id`;

const READ_WINDOWS = `SELECT ${budgetColumns()}, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
  FROM billing.budget b WHERE account_id = $1 AND dimension IS NULL AND window_end <= clock_timestamp()`;

/**
 * Begins the next window of budgets whose window is over, where no request has done so: their reset is an event. Any number of replicas may do
 * so at once, because each account is locked. Budgets of users and tags have no such event. Throws the first failure when all other
 * accounts are done.
 */
export async function beginDueWindows(connection: PgConnection): Promise<void> {
  const { rows } = await connection.query<{ account_id: string }>(READ_DUE, [ACCOUNTS_MAX]);
  let failure: Error | undefined;
  for (const { account_id: accountId } of rows) {
    try {
      await beginAccountWindows(connection, accountId);
    } catch (error) {
      failure ??= new Error(`beginning the windows of account ${accountId} failed`, { cause: error });
    }
  }
  if (failure) throw failure;
}

async function beginAccountWindows(connection: PgConnection, accountId: string): Promise<void> {
  await inTransaction(connection, async () => {
    await connection.query('SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    const { rows } = await connection.query<BudgetRow & { now: number }>(READ_WINDOWS, [accountId]);
    await inCurrentWindow(connection, rows.map(budgetState), Math.floor(rows[0]?.now ?? 0));
  });
}
