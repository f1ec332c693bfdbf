type Schema = Record<string, unknown>;

const DEPTH_MAX = 32;

const FORMATS: Record<string, string> = {
  date: '2024-01-01',
  time: '00:00:00Z',
  'date-time': '2024-01-01T00:00:00Z',
  email: 'sim@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
};

/**
 * Returns a small value that a JSON Schema accepts, always the same: required properties only, the first choice of each `enum` and
 * `anyOf`, the least length and number. Ignores `pattern`, `not` and `if`.
 */
export function schemaValue(schema: Schema, root: Schema = schema, depth = 0): unknown {
  if (depth > DEPTH_MAX) return null;
  const resolved = resolve(schema, root);
  if ('const' in resolved) return resolved.const;
  if (Array.isArray(resolved.enum) && resolved.enum.length > 0) return resolved.enum[0];
  const choice = pickFirst(resolved.anyOf) ?? pickFirst(resolved.oneOf);
  if (choice) return schemaValue(merge(without(resolved, ['anyOf', 'oneOf']), choice), root, depth + 1);
  const type = Array.isArray(resolved.type) ? resolved.type[0] : (resolved.type ?? (resolved.properties ? 'object' : undefined));
  switch (type) {
    case 'object':
      return objectValue(resolved, root, depth);
    case 'array':
      return Array.from({ length: numberOr(resolved.minItems, 0) }, () => schemaValue(asSchema(resolved.items), root, depth + 1));
    case 'string':
      return stringValue(resolved);
    case 'integer':
      return numberValue(resolved, 1);
    case 'number':
      return numberValue(resolved, 0.5);
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return {};
  }
}

function objectValue(schema: Schema, root: Schema, depth: number): Schema {
  const properties = asSchema(schema.properties);
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  return Object.fromEntries(required.map((name) => [name, schemaValue(asSchema(properties[name]), root, depth + 1)]));
}

function stringValue(schema: Schema): string {
  const formatted = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined;
  if (formatted) return formatted;
  return 'sim'.padEnd(numberOr(schema.minLength, 0), 'x').slice(0, numberOr(schema.maxLength, Number.POSITIVE_INFINITY));
}

function numberValue(schema: Schema, step: number): number {
  const above = numberOr(schema.exclusiveMinimum, Number.NEGATIVE_INFINITY);
  const below = numberOr(schema.exclusiveMaximum, Number.POSITIVE_INFINITY);
  const unit = numberOr(schema.multipleOf, step);
  const least = Math.max(numberOr(schema.minimum, Number.NEGATIVE_INFINITY), above);
  const most = Math.min(numberOr(schema.maximum, Number.POSITIVE_INFINITY), below);
  if (least <= 0 && most >= 0 && above < 0 && below > 0) return 0;
  if (least >= 0) {
    const value = Math.ceil(least / unit) * unit;
    return value > above ? value : value + unit;
  }
  const value = Math.floor(most / unit) * unit;
  return value < below ? value : value - unit;
}

function resolve(schema: Schema, root: Schema): Schema {
  let resolved = schema;
  for (let hops = 0; typeof resolved.$ref === 'string' && hops < DEPTH_MAX; hops++) resolved = lookUp(resolved.$ref, root);
  if (Array.isArray(resolved.allOf)) {
    return (resolved.allOf as Schema[]).map((part) => resolve(part, root)).reduce(merge, without(resolved, ['allOf']));
  }
  return resolved;
}

function lookUp(reference: string, root: Schema): Schema {
  const path = reference.replace(/^#\/?/, '').split('/').filter(Boolean);
  return path.reduce<Schema>((at, key) => asSchema(at[key.replaceAll('~1', '/').replaceAll('~0', '~')]), root);
}

function merge(left: Schema, right: Schema): Schema {
  return {
    ...left,
    ...right,
    properties: { ...asSchema(left.properties), ...asSchema(right.properties) },
    required: [...new Set([...((left.required as string[]) ?? []), ...((right.required as string[]) ?? [])])],
    ...(left.type === undefined && right.type === undefined ? {} : { type: right.type ?? left.type }),
  };
}

function without(schema: Schema, keys: string[]): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));
}

function pickFirst(choices: unknown): Schema | undefined {
  return Array.isArray(choices) && choices.length > 0 ? asSchema(choices[0]) : undefined;
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}
