import type { PgConnection } from '#database/pg-connection.js';

/** Smaller steps are corrections of a clock that runs well, and no lease minds them. */
const STEP_MS = 1_000;

/** Compares the database's clock with this process's own, which only ever runs on: where they part, the database's was set. */
export class DatabaseClock {
  /** The database's clock less ours lies between these, in milliseconds. */
  private ahead: { least: number; most: number } | undefined;

  /** Reads the clock. Returns true when it was set, by more than a second, since the last reading. */
  async wasSet(connection: PgConnection): Promise<boolean> {
    const before = performance.now();
    const { rows } = await connection.query<{ now: number }>('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
    const now = rows[0]?.now ?? Number.NaN;
    const last = this.ahead;
    this.ahead = { least: now - performance.now(), most: now - before };
    return last !== undefined && (this.ahead.least > last.most + STEP_MS || this.ahead.most < last.least - STEP_MS);
  }
}
