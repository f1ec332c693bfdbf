/** Edits that a typed id may be away from a model's. */
const EDITS_MAX = 3;
/** Longer ids are not compared: refusals cost their sender nothing. */
const LENGTH_MAX = 100;
/** Models that are compared, for the same reason. */
const MODELS_MAX = 1_000;

/** Returns the model whose id is nearest to a typed one, if it is near enough to be meant; the first of several. A vendor before `/` is left out. */
export function findNearestModel(typed: string, ids: readonly string[]): string | undefined {
  const wanted = withoutVendor(typed);
  if (wanted === '' || wanted.length > LENGTH_MAX) return undefined;
  // A third of a short id may be wrong, so that `o1` is not offered for `xy`.
  let most = Math.min(EDITS_MAX, Math.floor(wanted.length / 3));
  let nearest: string | undefined;
  for (const id of ids.slice(0, MODELS_MAX)) {
    const edits = countEdits(wanted, withoutVendor(id), most);
    if (edits > most) continue;
    nearest = id;
    if (edits === 0) break;
    most = edits - 1;
  }
  return nearest;
}

function withoutVendor(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1).toLowerCase();
}

/** Counts the letters to insert, delete, replace or swap with their neighbour; `most + 1` for more than `most`. */
function countEdits(one: string, other: string, most: number): number {
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
