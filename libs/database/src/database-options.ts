/** Connection of a service to its database. The server enforces the time limits. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`, with one host or several (postgres-url.ts). */
  url: string;
  /** Shown in `pg_stat_activity`. */
  applicationName: string;
  /** Milliseconds that a statement may run. Default 10,000. */
  statementTimeoutMs?: number;
  /** Milliseconds to the end of the handshake. Default 3,000. */
  connectTimeoutMs?: number;
}

export const STATEMENT_TIMEOUT_MS = 10_000;
export const CONNECT_TIMEOUT_MS = 3_000;

/** Renders parameters of a session for the start of a connection. */
export function sessionOptions(settings: Record<string, string> = {}): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}
