import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { CONNECT_TIMEOUT_MS, type DatabaseOptions, STATEMENT_TIMEOUT_MS, sessionOptions } from './database-options.js';
import { connectPrimary } from './primary-client.js';

export type PgConnection = pg.Client;

/**
 * Opens a pipelined connection to the primary: statements are sent without waiting for earlier answers, so a transaction of several costs one round trip.
 * A failed statement between BEGIN and COMMIT turns the COMMIT into a rollback.
 *
 * `settings` are parameters of the session, such as `{ jit: 'off' }`. A connection lost while idle emits `error`, and the next statement
 * fails.
 */
export async function connectPg(options: DatabaseOptions & { settings?: Record<string, string> }): Promise<PgConnection> {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const connection = await connectPrimary({
    connectionString: options.url,
    application_name: options.applicationName,
    statement_timeout: statementTimeoutMs,
    // An unreachable server cannot enforce its own limit.
    query_timeout: statementTimeoutMs + 1_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    keepAlive: true,
    pipeline: true,
    options: sessionOptions(options.settings),
  });
  sendTogether(connection);
  return connection;
}

/** Waits for all of several statements that were sent together. Throws the first error. */
export async function awaitAll<Results extends readonly unknown[]>(
  results: { [Position in keyof Results]: Promise<Results[Position]> },
): Promise<Results> {
  const settled = await Promise.allSettled(results);
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as Results;
}

/**
 * Sends the statements of one event loop turn in one write. By default the client writes each message on its own, and every write wakes the
 * server.
 */
function sendTogether(connection: PgConnection): void {
  const { stream } = (connection as unknown as { connection: { stream: Duplex } }).connection;
  const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
  let corked = false;
  const uncork = (): void => {
    corked = false;
    stream.uncork();
  };
  connection.query = ((...args: unknown[]) => {
    if (!corked) {
      corked = true;
      stream.cork();
      process.nextTick(uncork);
    }
    return query(...args);
  }) as typeof connection.query;
}
