import { createHash } from 'node:crypto';
import { MONTH_FILES, type MonthColumn, type MonthFile, type MonthFileName, monthFileHeader } from '#contracts/billing/months.js';
import type { PgConnection } from '#database/pg-connection.js';
import { JOURNALS, type Journal, type MonthEnd, type MonthRange, moment } from './journal-rows.js';

/** Runs one statement. */
export type Query = <Row>(sql: string, values: readonly unknown[]) => Promise<Row[]>;

export function queryOn(connection: PgConnection): Query {
  return async <Row>(sql: string, values: readonly unknown[]) => (await connection.query(sql, [...values])).rows as Row[];
}

/** A closed month, or one that is being closed. */
export interface MonthRows {
  month: string;
  start: number;
  range: MonthRange & { to: MonthEnd };
}

export interface FilePage {
  /** Lines as CSV, each with its line end. */
  lines: string[];
  /** Values of the key columns of the last line. Null: the file has no more lines. */
  after: string[] | null;
}

/** Journal of a file, or table of sums; and the columns by which its rows are ordered. */
const SOURCES: Record<MonthFileName, { journal?: Journal; table?: string; keys: readonly string[] }> = {
  settlements: { journal: 'settlement', keys: ['settled_at', 'hold_id'] },
  'late-settlements': { journal: 'late_settlement', keys: ['settled_at', 'hold_id'] },
  movements: { journal: 'movement', keys: ['created_at', 'id'] },
  statements: { table: 'month_account', keys: ['account_id'] },
  grants: { table: 'month_grant', keys: ['grant_id', 'account_id'] },
};

/** Milliseconds of the first window of time in which rows are looked for. Each empty window doubles it. */
const WINDOW_MS = 1_000;

const DIGEST_PAGE_ROWS = 10_000;

export function keyColumnsOf(file: MonthFileName): readonly MonthColumn[] {
  const columns: Record<string, MonthColumn> = MONTH_FILES[file];
  return SOURCES[file].keys.map((key) => columns[key] as MonthColumn);
}

/** Reads up to `limit` lines after a key, in the order of the keys. Rows never change, so pages need no common snapshot. */
export async function readPage(
  query: Query,
  file: MonthFileName,
  rows: MonthRows,
  after: readonly string[] | null,
  limit: number,
): Promise<FilePage> {
  const { journal } = SOURCES[file];
  const page = journal
    ? await readJournal(query, file, journal, rows, after, limit)
    : await readRows(query, file, { from: `billing.${SOURCES[file].table} WHERE month = '${rows.month}'`, after, limit });
  return { lines: page.map(({ line }) => `${line}\n`), after: page.length < limit ? null : (page.at(-1)?.key ?? null) };
}

/** Reads the whole file and returns its digest. */
export async function digestFile(query: Query, file: MonthFileName, rows: MonthRows, signal?: AbortSignal): Promise<MonthFile> {
  const hash = createHash('sha256').update(monthFileHeader(file));
  let count = 0;
  let after: string[] | null = null;
  do {
    signal?.throwIfAborted();
    const page: FilePage = await readPage(query, file, rows, after, DIGEST_PAGE_ROWS);
    hash.update(page.lines.join(''));
    count += page.lines.length;
    after = page.after;
  } while (after !== null);
  return { file, rows: count, sha256: hash.digest('hex') };
}

interface Line {
  line: string;
  key: string[];
}

/**
 * Reads rows in windows of time that grow until they hold enough, because the journals have no index in the order of time. The first window
 * has the rows before the month: those of a clock that was set back, and in the first month those before it.
 */
async function readJournal(
  query: Query,
  file: MonthFileName,
  journal: Journal,
  { start, range }: MonthRows,
  after: readonly string[] | null,
  limit: number,
): Promise<Line[]> {
  const at = JOURNALS[journal];
  const below = `transaction_id < ${range.to.transactionEnd}`;
  const lines: Line[] = [];
  const read = async (condition: string): Promise<boolean> => {
    const from = `billing.${journal} WHERE ${condition} AND ${below}`;
    lines.push(...(await readRows(query, file, { from, after, limit: limit - lines.length })));
    return lines.length === limit;
  };
  let from = after?.[0] === undefined ? Number.NEGATIVE_INFINITY : Date.parse(after[0]);
  if (from < start) {
    const added = range.after ? ` AND transaction_id >= ${range.after.transactionEnd}` : '';
    if (await read(`${at} < ${moment(start)}${added}`)) return lines;
    from = start;
  }
  for (let width = WINDOW_MS; from < range.to.at; width *= 2) {
    const to = Math.min(from + width, range.to.at);
    if (await read(`${at} >= ${moment(from)} AND ${at} < ${moment(to)}`)) return lines;
    from = to;
  }
  return lines;
}

async function readRows(
  query: Query,
  file: MonthFileName,
  { from, after, limit }: { from: string; after: readonly string[] | null; limit: number },
): Promise<Line[]> {
  const { keys } = SOURCES[file];
  const types = keyColumnsOf(file).map((column) => (column === 'time' ? 'timestamptz' : 'uuid'));
  const isAfter = after ? ` AND (${keys.join(', ')}) > (${types.map((type, index) => `$${index + 1}::${type}`).join(', ')})` : '';
  return query<Line>(
    `SELECT concat(${LINES[file]}) AS line, ARRAY[${keys.map((key, index) => render(key, types[index] === 'uuid' ? 'id' : 'time')).join(', ')}] AS key
     FROM ${from}${isAfter} ORDER BY ${keys.join(', ')} LIMIT ${limit}`,
    after ?? [],
  );
}

const LINES = Object.fromEntries(
  Object.entries(MONTH_FILES).map(([file, columns]) => [
    file,
    Object.entries(columns)
      .map(([name, column]) => render(name, column))
      .join(`, ',', `),
  ]),
) as Record<MonthFileName, string>;

/** Renders a value as CSV (RFC 4180): nothing for null, and text in quotes where it needs them. */
function render(name: string, column: MonthColumn): string {
  if (column === 'time') return `to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  if (column === 'text')
    return `CASE WHEN ${name} ~ '[",\\n\\r]' OR ${name} = '' THEN '"' || replace(${name}, '"', '""') || '"' ELSE ${name} END`;
  return `${name}::text`;
}
