import { awaitAll, type PgConnection } from '#database/pg-connection.js';

/** Runs `work` in a transaction, and rolls it back when `work` throws. `begin` may name another isolation level. */
export async function inTransaction<Result>(connection: PgConnection, work: () => Promise<Result>, begin = 'BEGIN'): Promise<Result> {
  await connection.query(begin);
  try {
    const result = await work();
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => undefined); // the server rolls back by itself when the connection breaks
    throw error;
  }
}

/** Sends statements as one transaction, in one round trip. If one fails, the server makes the COMMIT a rollback, and the first error is thrown. */
export async function inOneTrip<const Results extends readonly unknown[]>(
  connection: PgConnection,
  statements: () => { [Position in keyof Results]: Promise<Results[Position]> },
): Promise<Results> {
  const sent = [connection.query('BEGIN'), ...statements(), connection.query('COMMIT')];
  return (await awaitAll(sent)).slice(1, -1) as unknown as Results;
}
