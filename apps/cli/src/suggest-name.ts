/** Returns the name that was most likely meant: one that the typed text begins or ends, or the one with the fewest typing errors. */
export function suggestName(typed: string, names: readonly string[]): string | undefined {
  const text = typed.toLowerCase();
  const rated = names.map((name) => ({ name, errors: name.toLowerCase().startsWith(text) ? 0 : countErrors(text, name.toLowerCase()) }));
  const [best] = rated.sort((one, other) => one.errors - other.errors);
  return best !== undefined && best.errors <= Math.max(1, text.length / 3) ? best.name : undefined;
}

/** Characters to add, remove, replace or swap with the next one: the distance of Damerau and Levenshtein. */
function countErrors(from: string, to: string): number {
  let [before, above]: number[][] = [[], Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let column = 1; column <= to.length; column++) {
      const isEqual = from[row - 1] === to[column - 1];
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      line[column] = Math.min(
        (above?.[column] ?? 0) + 1,
        (line[column - 1] ?? 0) + 1,
        (above?.[column - 1] ?? 0) + (isEqual ? 0 : 1),
        isSwapped ? (before?.[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, above] = [above ?? [], line];
  }
  return above?.[to.length] ?? 0;
}
