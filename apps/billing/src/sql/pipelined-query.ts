import type { QueryResult, QueryResultRow } from 'pg';
import type { PgConnection } from '#database/pg-connection.js';

/** A prepared statement, parsed once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function execute<Row extends QueryResultRow>(
  connection: PgConnection,
  statement: Statement,
  values: unknown[],
): Promise<QueryResult<Row>> {
  return connection.query<Row>({ ...statement, values });
}

/** Returns a Postgres array of values that need no quoting. Cheaper than the driver, which quotes every value. */
export function plainArray(values: readonly (string | number | bigint | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}
