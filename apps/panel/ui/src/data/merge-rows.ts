/** Returns the loaded rows, and those of a search that are none of them. */
export function mergeRows<Row>(
  loaded: readonly Row[] | undefined,
  found: readonly Row[] | undefined,
  readId: (row: Row) => string,
): readonly Row[] | undefined {
  if (!loaded || !found) return loaded;
  const known = new Set(loaded.map(readId));
  return [...loaded, ...found.filter((row) => !known.has(readId(row)))];
}
