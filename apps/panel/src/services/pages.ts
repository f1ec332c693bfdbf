/** Yields the rows of a list page by page, so that one page is in memory. */
export async function* readPages<Row>(
  read: (cursor: string | undefined) => Promise<{ rows: readonly Row[]; nextCursor: string | null }>,
): AsyncGenerator<readonly Row[]> {
  for (let cursor: string | undefined; ; ) {
    const { rows, nextCursor } = await read(cursor);
    yield rows;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

/** Collects all pages of a short list. */
export async function collectRows<Row>(pages: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const rows of pages) all.push(...rows);
  return all;
}

/** Yields rows that are all there as the only page. */
export async function* onePage<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows;
}
