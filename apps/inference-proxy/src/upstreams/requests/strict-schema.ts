import { isObject } from '../replies/json-object.js';

/**
 * True when OpenAI's servers accept a JSON Schema with `strict: true`: each of its objects requires all of its properties and allows no
 * others. Anthropic's servers accept optional properties too.
 */
export function isStrictSchema(schema: unknown): boolean {
  if (!isObject(schema)) return true;
  const { type, properties, required, additionalProperties } = schema;
  if (type === 'object' || properties !== undefined) {
    const names = isObject(properties) ? Object.keys(properties) : [];
    const isClosed = additionalProperties === false && names.every((name) => Array.isArray(required) && required.includes(name));
    if (!isClosed) return false;
  }
  const named = [schema.properties, schema.$defs, schema.definitions].flatMap((schemas) =>
    isObject(schemas) ? Object.values(schemas) : [],
  );
  return [schema.items, schema.anyOf, schema.allOf, schema.oneOf, schema.prefixItems, ...named].flat().every(isStrictSchema);
}
