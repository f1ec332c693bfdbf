import type { PgConnection } from '#database/pg-connection.js';

/**
 * Sends statements as one transaction in one round trip and waits for all. If one fails, the server makes the COMMIT a rollback,
 * and the first that failed is thrown.
 */
export async function inTransaction<const Results extends readonly unknown[]>(
  connection: PgConnection,
  statements: () => { [Position in keyof Results]: Promise<Results[Position]> },
): Promise<Results> {
  const sent = [connection.query('BEGIN'), ...statements(), connection.query('COMMIT')];
  const [, ...settled] = await Promise.allSettled(sent);
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
  return settled.slice(0, -1).map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as Results;
}
