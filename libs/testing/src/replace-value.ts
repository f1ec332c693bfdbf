/** All nested values, outermost first. */
export function valuesWithin(value: unknown): unknown[] {
  return isContainer(value) ? Object.values(value).flatMap((inner) => [inner, ...valuesWithin(inner)]) : [];
}

/** Returns a copy with the nested value at `position` (modulo their number) replaced; `undefined` removes it. */
export function replaceValue(whole: unknown, position: number, replacement: unknown): unknown {
  const target = position % Math.max(valuesWithin(whole).length, 1);
  let seen = 0;
  const copy = (value: unknown): unknown => {
    if (!isContainer(value)) return value;
    const entries = Object.entries(value).map(([key, inner]) => [key, seen++ === target ? replacement : copy(inner)] as const);
    const kept = entries.filter(([, inner]) => inner !== undefined);
    return Array.isArray(value) ? kept.map(([, inner]) => inner) : Object.fromEntries(kept);
  };
  return copy(whole);
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
