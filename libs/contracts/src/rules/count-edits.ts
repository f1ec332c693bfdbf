// The distance of a typed name from a real one. Imports nothing: browsers load it.

/**
 * Counts the letters to insert, delete, replace or swap with their neighbour, after Damerau and Levenshtein. Returns `most + 1` for more
 * than `most`, and ends early there.
 */
export function countEdits(one: string, other: string, most = Number.POSITIVE_INFINITY): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let at = 1; at <= other.length; at++) {
      const isSame = one[row - 1] === other[at - 1];
      let edits = Math.min(read(last, at) + 1, read(current, at - 1) + 1, read(last, at - 1) + (isSame ? 0 : 1));
      if (row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1])
        edits = Math.min(edits, read(beforeLast, at - 2) + 1);
      current.push(edits);
    }
    // A swap counts from the row before, so that a row above the bound does not end it alone.
    if (Math.min(...current) > most && Math.min(...last) > most) return most + 1;
    [beforeLast, last] = [last, current];
  }
  return read(last, other.length);
}

function read(row: readonly number[], at: number): number {
  return row[at] ?? Number.POSITIVE_INFINITY;
}
