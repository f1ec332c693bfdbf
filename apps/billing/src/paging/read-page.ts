import { isId, parseCursor, renderCursor } from './page-cursor.js';

const LIMIT_DEFAULT = 1_000;

/** Arguments of `findMany` for a page. Rows must be in the order of `oldestFirst`. */
interface PageArguments {
  take: number;
  cursor?: { id: string };
  skip?: number;
}

export const oldestFirst = [{ createdAt: 'asc' }, { id: 'asc' }] as const;

/** Returns one page of rows that are never deleted, and the cursor of the next; null after the last. `question` identifies the query. */
export async function readPage<Row extends { id: string }>(
  question: unknown,
  { limit = LIMIT_DEFAULT, cursor }: { limit?: number; cursor?: string },
  find: (page: PageArguments) => Promise<Row[]>,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const [id] = cursor ? parseCursor(question, cursor, [isId]) : [];
  const found = await find({ take: limit + 1, ...(id !== undefined && { cursor: { id }, skip: 1 }) });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > limit && last ? renderCursor(question, [last.id]) : null };
}
