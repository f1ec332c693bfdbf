import type { PgConnection } from '#database/pg-connection.js';
import type { LedgerFixture } from './ledger-fixture.js';

/** A database clock that a test can set: replaces `clock_timestamp()` in statements of its connections. */
export class ShiftedClock {
  private constructor(private readonly ledger: LedgerFixture) {}

  static async of(ledger: LedgerFixture): Promise<ShiftedClock> {
    for (const statement of [
      'CREATE SCHEMA clock',
      'CREATE TABLE clock.shift AS SELECT 0::int8 AS milliseconds',
      `CREATE FUNCTION clock.shifted() RETURNS timestamptz LANGUAGE sql VOLATILE AS
        $$ SELECT clock_timestamp() + milliseconds * interval '1 millisecond' FROM clock.shift $$`,
      'GRANT USAGE ON SCHEMA clock TO PUBLIC',
      'GRANT SELECT ON clock.shift TO PUBLIC',
    ]) {
      await ledger.sql.query(statement);
    }
    return new ShiftedClock(ledger);
  }

  /** Milliseconds ahead of the true time; negative when set back. */
  async set(milliseconds: number): Promise<void> {
    await this.ledger.sql.query('UPDATE clock.shift SET milliseconds = $1', [milliseconds]);
  }

  connect = async (): Promise<PgConnection> => {
    const connection = await this.ledger.connect();
    const query = connection.query.bind(connection) as (statement: unknown, values?: unknown[]) => unknown;
    const shifted = (sql: string): string => sql.replaceAll('clock_timestamp()', 'clock.shifted()');
    connection.query = ((statement: string | { text: string }, values?: unknown[]) =>
      query(
        typeof statement === 'string' ? shifted(statement) : { ...statement, text: shifted(statement.text) },
        values,
      )) as unknown as typeof connection.query;
    return connection;
  };
}
