import type { Duplex } from 'node:stream';
import pg from 'pg';
import { CONNECT_TIMEOUT_MS, type DatabaseOptions, STATEMENT_TIMEOUT_MS } from './database-options.js';

export type PgConnection = pg.Client;

/**
 * Opens one pipelined connection for a hot lane: statements are sent without waiting for the answers before them, so a
 * transaction of several costs one round trip. Each statement is its own message exchange: inside BEGIN … COMMIT a failed
 * one turns the COMMIT into a rollback.
 *
 * `settings` are run-time parameters of the server for this session, such as `{ jit: 'off' }`.
 * A connection lost while idle emits `error`; whether or not anyone listens, the next statement fails.
 */
export async function connectPg(options: DatabaseOptions & { settings?: Record<string, string> }): Promise<PgConnection> {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const connection = new pg.Client({
    connectionString: options.url,
    application_name: options.applicationName,
    statement_timeout: statementTimeoutMs,
    // The server may be unreachable rather than slow: then its own limit never fires.
    query_timeout: statementTimeoutMs + 1_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    keepAlive: true,
    pipeline: true,
    options: Object.entries(options.settings ?? {})
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  });
  // The server may end the session before the caller can listen, and an error nobody hears would end the process.
  connection.on('error', () => undefined);
  await connection.connect();
  sendTogether(connection);
  return connection;
}

/**
 * Statements sent in one turn of the event loop leave in one write: the client on its own writes each message of each statement
 * by itself, and every write wakes the server.
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
