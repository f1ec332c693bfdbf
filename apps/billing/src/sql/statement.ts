import type { QueryResult, QueryResultRow } from 'pg';
import type { PgConnection } from '#database/pg-connection.js';

/** A prepared statement, parsed once per connection. */
export interface Statement<Input, Row extends QueryResultRow> {
  execute(connection: PgConnection, input: Input): Promise<QueryResult<Row>>;
}

type Value = string | number | bigint | boolean | object | null | undefined;

/** Type of a column in Postgres, and its value in a row. */
type Column<Row> = readonly [type: keyof typeof ARRAYS, read: (row: Row) => Value];

/** Columns that a statement gets from rows, by name. Each is one parameter: the array of its values. */
export type Columns<Row> = Readonly<Record<string, Column<Row>>>;

/** Adds parameters to a statement while its text is built, and numbers them. Each method returns SQL. */
export interface Inputs<Input> {
  value(read: (input: Input) => Value): string;
  array(type: Column<Input>[0], readAll: (input: Input) => readonly Value[]): string;
  rows<Row>(columns: Columns<Row>, readRows: (input: Input) => readonly Row[]): RowsInput;
}

/** Parameters of rows, as SQL. */
export interface RowsInput {
  /** Parameters with their types: `$1::uuid[], $2::int8[]`. */
  readonly arrays: string;
  readonly names: string;
  /** The first of the parameters, and how many rows there are. */
  readonly first: string;
  readonly count: string;
  /** A row of SQL for each: `unnest($1::uuid[], $2::int8[]) AS s (id, cost)`. */
  as(alias: string): string;
}

/** A part of a statement: common table expressions, and a condition that makes the statement fail unless it holds. */
export interface Change {
  readonly changes: string;
  readonly demand: string;
}

/** Builds a statement. The text is made once: per use, only the parameters are. */
export function statement<Input, Row extends QueryResultRow = QueryResultRow>(
  name: string,
  build: (inputs: Inputs<Input>) => string,
): Statement<Input, Row> {
  const parts: ((input: Input, values: unknown[]) => void)[] = [];
  let last = 0;
  const add = (types: readonly string[], part: (input: Input, values: unknown[]) => void): string[] => {
    parts.push(part);
    return types.map((type) => `$${++last}${type}`);
  };
  const text = build({
    value: (read) => add([''], (input, values) => values.push(read(input))).join(),
    array: (type, readAll) => add([`::${type}[]`], (input, values) => values.push(ARRAYS[type](readAll(input), itself))).join(),
    rows(columns, readRows) {
      const encoders = Object.values(columns).map(([type, read]) => ({ encode: ARRAYS[type], read }));
      const types = Object.values(columns).map(([type]) => `::${type}[]`);
      const parameters = add(types, (input, values) => {
        const rows = readRows(input);
        for (const { encode, read } of encoders) values.push(encode(rows, read));
      });
      const [arrays, first, names] = [parameters.join(', '), parameters[0] ?? '', listNames(columns)];
      return { arrays, names, first, count: `cardinality(${first})`, as: (alias) => `unnest(${arrays}) AS ${alias} (${names})` };
    },
  });
  return {
    execute(connection, input) {
      const values: unknown[] = [];
      for (const part of parts) part(input, values);
      return connection.query<Row>({ name, text, values });
    },
  };
}

/** Returns `id, cost`. */
export function listNames(columns: Columns<never>): string {
  return Object.keys(columns).join(', ');
}

/** Returns the assignments of an UPDATE from rows with the alias `s`: `held = s.held, spent = s.spent`. */
export function assignmentsOf(columns: Columns<never>): string {
  return Object.keys(columns)
    .map((name) => `${name} = s.${name}`)
    .join(', ');
}

/** Arrays are joined here. That is cheaper than the driver, which looks for the type of each value and quotes it. */
const ARRAYS = {
  uuid: plain,
  xid: plain,
  int2: plain,
  int4: plain,
  int8: plain,
  numeric: plain,
  timestamptz: plain,
  text: quoted,
  json: quotedJson,
  jsonb: quotedJson,
};

function plain<Row>(rows: readonly Row[], read: (row: Row) => Value): string {
  let list = '';
  for (const row of rows) list += `${list === '' ? '' : ','}${read(row) ?? 'NULL'}`;
  return `{${list}}`;
}

function quoted<Row>(rows: readonly Row[], read: (row: Row) => Value): string {
  return plain(rows, (row) => {
    const value = read(row) ?? null;
    return value === null ? null : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`;
  });
}

function quotedJson<Row>(rows: readonly Row[], read: (row: Row) => Value): string {
  return quoted(rows, (row) => {
    const value = read(row) ?? null;
    return value === null ? null : JSON.stringify(value);
  });
}

function itself(value: Value): Value {
  return value;
}
