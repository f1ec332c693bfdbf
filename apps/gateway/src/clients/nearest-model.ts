import { countEdits } from '#contracts/rules/count-edits.js';

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
