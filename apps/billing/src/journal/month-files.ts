import { createHash } from 'node:crypto';
import {
  MONTH_FILE_NAMES,
  MONTH_FILES,
  type MonthColumn,
  type MonthFile,
  type MonthFileName,
  monthFileHeader,
} from '#contracts/billing/months.js';
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
  /** Only rows of hold ids from this one on. */
  idsFrom?: string;
}

export interface FilePosition {
  /** Values of the key columns of the last line read. Null: none was read. */
  after: readonly string[] | null;
  /** Milliseconds of time in which the next rows are looked for. */
  windowMs: number;
}

export interface FilePage {
  /** Lines as CSV, each with its line end. */
  lines: string[];
  /** Undefined: the file has no more lines. */
  next: FilePosition | undefined;
}

const hasCacheWrites = 'cache_write_tokens IS NOT NULL OR cache_write_1h_tokens IS NOT NULL';

/** Journal of a file, or table of sums; the columns by which its rows are ordered; and which rows it has, if not all. */
const SOURCES: Record<MonthFileName, { journal?: Journal; table?: string; keys: readonly string[]; where?: string }> = {
  settlements: { journal: 'settlement', keys: ['settled_at', 'hold_id'] },
  'late-settlements': { journal: 'late_settlement', keys: ['settled_at', 'hold_id'] },
  'unit-prices': {
    journal: 'settlement',
    keys: ['settled_at', 'hold_id'],
    where: '(request_price IS NOT NULL OR image_price IS NOT NULL)',
  },
  'cache-writes': {
    journal: 'settlement',
    keys: ['settled_at', 'hold_id'],
    where: `(${hasCacheWrites} OR cache_write_price IS NOT NULL OR cache_write_1h_price IS NOT NULL)`,
  },
  'late-cache-writes': { journal: 'late_settlement', keys: ['settled_at', 'hold_id'], where: `(${hasCacheWrites})` },
  'price-rules': { journal: 'settlement', keys: ['settled_at', 'hold_id'], where: '(price_rules IS NOT NULL OR tier IS NOT NULL)' },
  'late-price-rules': {
    journal: 'late_settlement',
    keys: ['settled_at', 'hold_id'],
    where: '(tier IS NOT NULL OR price_step IS NOT NULL)',
  },
  'item-quantities': { journal: 'settlement', keys: ['settled_at', 'hold_id'], where: 'quantity IS NOT NULL' },
  'late-item-quantities': { journal: 'late_settlement', keys: ['settled_at', 'hold_id'], where: 'quantity IS NOT NULL' },
  movements: { journal: 'movement', keys: ['created_at', 'id'] },
  statements: { table: 'month_account', keys: ['account_id'] },
  grants: { table: 'month_grant', keys: ['grant_id', 'account_id'] },
  receipts: { table: 'month_receipt', keys: ['account_id'] },
};

/** Files of rows, and files of sums of them. */
export const JOURNAL_FILES = MONTH_FILE_NAMES.filter((file) => SOURCES[file].journal);
export const SUM_FILES = MONTH_FILE_NAMES.filter((file) => SOURCES[file].table);

/** Limits of a window of time: it fits the rows of a page between the most and the least traffic. */
const WINDOW_MS = { min: 1_000, max: 40 * 86_400_000 };
export const FILE_START: FilePosition = { after: null, windowMs: 3_600_000 };

const DIGEST_PAGE_ROWS = 10_000;

export function listKeyColumns(file: MonthFileName): readonly MonthColumn[] {
  const columns: Record<string, MonthColumn> = MONTH_FILES[file];
  return SOURCES[file].keys.map((key) => columns[key] as MonthColumn);
}

/** Reads up to `limit` lines after a position, in the order of the keys. Rows never change, so pages need no common snapshot. */
export async function readPage(
  query: Query,
  file: MonthFileName,
  rows: MonthRows,
  position: FilePosition,
  limit: number,
): Promise<FilePage> {
  const { journal, table } = SOURCES[file];
  const { found, windowMs } = journal
    ? await readJournal(query, { file, journal, rows, position, limit })
    : {
        found: await readRows(query, file, { from: `billing.${table} WHERE month = '${rows.month}'`, after: position.after, limit }),
        windowMs: position.windowMs,
      };
  const last = found.at(-1);
  return { lines: found.map(({ line }) => `${line}\n`), next: last && found.length === limit ? { after: last.key, windowMs } : undefined };
}

/** Reads the whole file and returns its digest. */
export async function digestFile(query: Query, file: MonthFileName, rows: MonthRows, signal?: AbortSignal): Promise<MonthFile> {
  const hash = createHash('sha256').update(monthFileHeader(file));
  let count = 0;
  let position: FilePosition | undefined = FILE_START;
  while (position) {
    signal?.throwIfAborted();
    const page: FilePage = await readPage(query, file, rows, position, DIGEST_PAGE_ROWS);
    hash.update(page.lines.join(''));
    count += page.lines.length;
    position = page.next;
  }
  return { file, rows: count, sha256: hash.digest('hex') };
}

interface Line {
  line: string;
  key: string[];
}

interface JournalPage {
  file: MonthFileName;
  journal: Journal;
  rows: MonthRows;
  position: FilePosition;
  limit: number;
}

async function readJournal(
  query: Query,
  { file, journal, rows, position, limit }: JournalPage,
): Promise<{ found: Line[]; windowMs: number }> {
  const ids = rows.idsFrom ? ` AND hold_id >= '${rows.idsFrom}'` : '';
  const where = SOURCES[file].where ? ` AND ${SOURCES[file].where}` : '';
  return readWindows({ at: JOURNALS[journal], rows, position, limit }, (condition, limit) =>
    readRows(query, file, { from: `billing.${journal} WHERE ${condition}${where}${ids}`, after: position.after, limit }),
  );
}

/**
 * Reads rows in windows of time, because the journals have no index in the order of time. `read` gets the condition on the column `at` for a
 * window. A window that has too few rows doubles the next one, and one that alone fills the page halves it. The first window has the rows before
 * the month: those of a clock that was set back, and in the first month those before it.
 */
export async function readWindows<Row>(
  { at, rows, position, limit }: { at: string; rows: MonthRows; position: FilePosition; limit: number },
  read: (condition: string, limit: number) => Promise<Row[]>,
): Promise<{ found: Row[]; windowMs: number }> {
  const { start, range } = rows;
  const { after, windowMs } = position;
  const found: Row[] = [];
  const fill = async (condition: string): Promise<boolean> => {
    found.push(...(await read(`${condition} AND transaction_id < ${range.to.transactionEnd}`, limit - found.length)));
    return found.length === limit;
  };
  let from = after?.[0] === undefined ? Number.NEGATIVE_INFINITY : Date.parse(after[0]);
  if (from < start) {
    const added = range.after ? ` AND transaction_id >= ${range.after.transactionEnd}` : '';
    if (await fill(`${at} < ${moment(start)}${added}`)) return { found, windowMs };
    from = start;
  }
  let width = windowMs;
  while (from < range.to.at) {
    const to = Math.min(from + width, range.to.at);
    const before = found.length;
    const isFull = await fill(`${at} >= ${moment(from)} AND ${at} < ${moment(to)}`);
    if (isFull) return { found, windowMs: before === 0 ? Math.max(Math.round(width / 2), WINDOW_MS.min) : width };
    from = to;
    width = Math.min(width * 2, WINDOW_MS.max);
  }
  return { found, windowMs: width };
}

async function readRows(
  query: Query,
  file: MonthFileName,
  { from, after, limit }: { from: string; after: readonly string[] | null; limit: number },
): Promise<Line[]> {
  const { keys } = SOURCES[file];
  const types = listKeyColumns(file).map((column) => (column === 'time' ? 'timestamptz' : 'uuid'));
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
  if (name === 'usage_source') return "''"; // no row of version 0.1.0 or later has one
  if (column === 'time') return `to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  if (column === 'json') return `'"' || replace(${name}::text, '"', '""') || '"'`;
  if (column === 'text')
    return `CASE WHEN ${name} ~ '[",\\n\\r]' OR ${name} = '' THEN '"' || replace(${name}, '"', '""') || '"' ELSE ${name} END`;
  return `${name}::text`;
}
