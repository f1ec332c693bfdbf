import { countEdits } from '#contracts/rules/count-edits.js';

/** Returns the name that was most likely meant: one that the typed text begins or ends, or the one with the fewest typing errors. */
export function suggestName(typed: string, names: readonly string[]): string | undefined {
  const text = typed.toLowerCase();
  const rated = names.map((name) => ({ name, errors: name.toLowerCase().startsWith(text) ? 0 : countEdits(text, name.toLowerCase()) }));
  const [best] = rated.sort((one, other) => one.errors - other.errors);
  return best !== undefined && best.errors <= Math.max(1, text.length / 3) ? best.name : undefined;
}
