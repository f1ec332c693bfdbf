import type { PgConnection } from '#database/pg-connection.js';

/** Clock correction makes smaller steps, which leases tolerate. */
const STEP_MS = 1_000;

/** Detects that the database's clock was set, by comparing it with the monotonic clock of this process. */
export class DatabaseClock {
  /** Bounds of the database's clock less ours, in milliseconds. */
  private ahead: { least: number; most: number } | undefined;

  /** Reads the clock. Returns true when it was set by more than a second since the last reading. */
  async wasSet(connection: PgConnection): Promise<boolean> {
    const before = performance.now();
    const { rows } = await connection.query<{ now: number }>('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
    const now = rows[0]?.now ?? Number.NaN;
    const last = this.ahead;
    this.ahead = { least: now - performance.now(), most: now - before };
    return last !== undefined && (this.ahead.least > last.most + STEP_MS || this.ahead.most < last.least - STEP_MS);
  }
}
