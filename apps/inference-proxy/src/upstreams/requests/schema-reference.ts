import { isObject } from '../replies/json-object.js';

export type Schema = Record<string, unknown>;

/** Returns the schema at a local JSON pointer such as `#/$defs/a`; undefined for any other reference. */
export function resolveReference(root: Schema, reference: string): Schema | undefined {
  const [start, ...steps] = reference.split('/');
  if (start !== '#') return undefined;
  let value: unknown = root;
  for (const step of steps) {
    const name = decode(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Schema)[name];
  }
  return isObject(value) ? value : undefined;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
