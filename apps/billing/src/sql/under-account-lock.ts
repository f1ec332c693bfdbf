import type { PgConnection } from '#database/pg-connection.js';
import { inOneTrip } from './transaction.js';

/**
 * Sends statements as one transaction that locks the account first, in one round trip.
 *
 * The lock is a statement of its own, so that the next ones see what was committed while it waited. A statement that locks by itself keeps
 * its older snapshot.
 */
export async function underAccountLock<const Results extends readonly unknown[]>(
  connection: PgConnection,
  accountId: string,
  statements: () => { [Position in keyof Results]: Promise<Results[Position]> },
): Promise<Results> {
  const lock = (): Promise<unknown> => connection.query('SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  const [, ...results] = await inOneTrip<readonly unknown[]>(connection, () => [lock(), ...statements()]);
  return results as unknown as Results;
}
