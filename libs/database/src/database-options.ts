/** How a service reaches its database. The time limits are the server's own, so that they hold whatever the client does. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  /** Shown in `pg_stat_activity`. */
  applicationName: string;
  /** The longest a statement may run. Default 10,000. */
  statementTimeoutMs?: number;
  /** The longest to the end of the handshake. Default 3,000. */
  connectTimeoutMs?: number;
}

export const STATEMENT_TIMEOUT_MS = 10_000;
export const CONNECT_TIMEOUT_MS = 3_000;
