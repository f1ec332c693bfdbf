import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { ClientLeftError } from '../errors/panel-error.js';

type Cell = string | number | null | undefined;

/** Columns of a table: the value of each cell by its heading. */
export type Columns<Row> = Record<string, (row: Row) => Cell>;

/** Returns columns with the values of fields, each under the name of its field. */
export function fieldColumns<Name extends string>(...names: readonly Name[]): Columns<{ [Field in Name]?: Cell }> {
  return Object.fromEntries(names.map((name) => [name, (row) => row[name]]));
}

/** Most characters of a file's name that name an account. */
const ACCOUNT_LENGTH_MAX = 40;

/**
 * Returns the name of a file with its account and the days, in UTC, that it covers: `usage-acme-2026-11-01-2026-11-30.csv`. Only letters, digits
 * and signs that every system takes. Undefined: all accounts, or no start.
 */
export function nameFile(what: string, accountName: string | undefined, { from, to }: { from?: string | undefined; to: string }): string {
  const slug = accountName
    ?.normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, ACCOUNT_LENGTH_MAX)
    .replace(/^-+|-+$/g, '')
    .toLowerCase();
  // The end is excluded: the file of a whole day ends with that day.
  const last = Math.max(Date.parse(to) - 1, from === undefined ? 0 : Date.parse(from));
  const days = [...(from === undefined ? [] : [Date.parse(from)]), last].map((at) => new Date(at).toISOString().slice(0, 10));
  return `${[what, accountName === undefined ? 'all' : slug || 'account', ...new Set(days)].join('-')}.csv`;
}

/** Sends rows as CSV (RFC 4180), as `sendFile` does. */
export function sendCsv<Row>(
  response: Response,
  fileName: string,
  columns: Columns<Row>,
  pages: AsyncIterable<readonly Row[]>,
): Promise<void> {
  return sendFile(response, { name: fileName, type: 'text/csv; charset=utf-8' }, renderCsv(columns, pages));
}

/** The heading comes with the first page. */
async function* renderCsv<Row>(columns: Columns<Row>, pages: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  const cells = Object.values(columns);
  let heading = line(Object.keys(columns));
  for await (const rows of pages) {
    yield heading + rows.map((row) => line(cells.map((cell) => cell(row)))).join('');
    heading = '';
  }
  if (heading !== '') yield heading;
}

/**
 * Sends the pages of a file, one after another, as fast as the client reads. Reads the first page before the head of the reply, so that a
 * refusal has its own status; a later failure breaks the connection, and no client takes half a file for a whole one.
 * @throws {ClientLeftError}
 */
export async function sendFile(
  response: Response,
  { name, type }: { name: string; type: string },
  pages: AsyncIterable<string>,
): Promise<void> {
  const reader = pages[Symbol.asyncIterator]();
  const first = await reader.next();
  if (response.destroyed) {
    await reader.return?.();
    throw new ClientLeftError();
  }
  response.status(200).setHeaders(
    new Headers({
      'content-type': type,
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    }),
  );
  try {
    await pipeline(Readable.from(continueWith(first, reader)), response);
  } catch (error) {
    // The client has left. There is no caller to tell.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

async function* continueWith(first: IteratorResult<string>, reader: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    for (let page = first; !page.done; page = await reader.next()) yield page.value;
  } finally {
    await reader.return?.();
  }
}

function line(cells: readonly Cell[]): string {
  return `${cells.map(renderCell).join(',')}\r\n`;
}

/** Characters with which a formula begins: all of which compatibility forms (NFKC) begin with a sign of ASCII, and the minus sign. */
const SIGN = '[=+\\-@＝＋－＠﬩﹢﹣﹦﹫⁺⁻⁼₊₋₌−⩵⩶]';
/** Characters that a spreadsheet skips before a sign: white space, control and invisible characters, and quotes that it takes for its own. */
const SKIPPED = '["\\s\\p{C}\\p{Z}\\p{Default_Ignorable_Code_Point}]*';
/** A sign at the start of the text, or behind a character at which some spreadsheets begin another cell. */
const FORMULA = new RegExp(`([;\\t\\r\\n]|^)(?=${SKIPPED}${SIGN})`, 'gu');
const NUMBER = /^-?\d+(\.\d+)?$/;
const SEPARATOR = /[",;'\s\p{C}]/u;

/**
 * Renders a cell of a CSV file (RFC 4180). Names and reasons are written by customers: an apostrophe keeps a spreadsheet from running them as
 * a formula, also one that separates cells by semicolons. Numbers stay numbers.
 */
export function renderCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  const text = String(value);
  if (NUMBER.test(text)) return text;
  const safe = text.replace(FORMULA, "$1'");
  return SEPARATOR.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
