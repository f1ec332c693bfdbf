import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { ClientLeftError } from '../errors/panel-error.js';
import { renderCell } from './csv-cell.js';

/** Columns of a table: the value of each cell by its heading. */
export type Columns<Row> = Record<string, (row: Row) => string | number | null | undefined>;

/**
 * Sends rows as CSV (RFC 4180), page after page as fast as the client reads. Reads the first page before the head of the reply, so that a
 * refusal has its own status; a later failure breaks the connection, and no client takes half a file for a whole one.
 * @throws {ClientLeftError}
 */
export async function sendCsv<Row>(
  response: Response,
  fileName: string,
  columns: Columns<Row>,
  pages: AsyncIterable<readonly Row[]>,
): Promise<void> {
  const reader = pages[Symbol.asyncIterator]();
  const first = await reader.next();
  if (response.destroyed) {
    await reader.return?.();
    throw new ClientLeftError();
  }
  response.status(200).setHeaders(
    new Headers({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${fileName}"`,
      'cache-control': 'no-store',
    }),
  );
  try {
    await pipeline(Readable.from(lines(columns, first, reader)), response);
  } catch (error) {
    // The client has left. There is no caller to tell.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

async function* lines<Row>(
  columns: Columns<Row>,
  first: IteratorResult<readonly Row[]>,
  reader: AsyncIterator<readonly Row[]>,
): AsyncGenerator<string> {
  const cells = Object.values(columns);
  try {
    yield line(Object.keys(columns));
    for (let page = first; !page.done; page = await reader.next()) {
      yield page.value.map((row) => line(cells.map((cell) => cell(row)))).join('');
    }
  } finally {
    await reader.return?.();
  }
}

function line(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map(renderCell).join(',')}\r\n`;
}
