import type { PgConnection } from '#database/pg-connection.js';

/**
 * Sends statements as one transaction that locks the account first, in one round trip, and waits for all. If one fails, the server
 * makes the COMMIT a rollback, and the first that failed is thrown.
 *
 * The lock is a statement of its own: the statements after it see all that was committed while it waited. A statement that takes the
 * lock itself keeps its older snapshot, and its UPDATE is checked against the constraints on the row as it was then.
 */
export async function underAccountLock<const Results extends readonly unknown[]>(
  connection: PgConnection,
  accountId: string,
  statements: () => { [Position in keyof Results]: Promise<Results[Position]> },
): Promise<Results> {
  const lock = (): Promise<unknown> => connection.query('SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  const sent = [connection.query('BEGIN'), lock(), ...statements(), connection.query('COMMIT')];
  const settled = await Promise.allSettled(sent);
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
  return settled.slice(2, -1).map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as Results;
}
