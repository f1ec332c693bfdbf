import { isObject } from '../replies/json-object.js';
import { foldSchema, joinSchemas } from './fold-schema.js';
import { SchemaBudget } from './schema-budget.js';
import { resolveReference, type Schema } from './schema-reference.js';

/** Keywords that vendors refuse at the root of a tool's schema, in each dialect: one such tool fails the whole request. */
const REFUSED = new Set(['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'enum']);

export interface ObjectSchema {
  schema: Schema;
  /** Conditions that the schema no longer has, in words for the tool's description. */
  conditions: string[];
}

/**
 * Returns the schema of a tool as an object of properties, with the branches at its root folded in. A schema that is such an object
 * already is returned as it is, because prompt caches depend on its bytes.
 */
export function asObjectSchema(schema: Schema): ObjectSchema {
  const isFolded = !Object.keys(schema).some((keyword) => REFUSED.has(keyword));
  if (schema.type === 'object' && isObject(schema.properties) && isFolded) return { schema, conditions: [] };
  const { properties, required, isClosed, description, conditions } = foldSchema(schema);
  const kept = Object.entries(schema).filter(([keyword]) => !REFUSED.has(keyword));
  const folded: Schema = Object.assign(Object.fromEntries([['type', 'object'], ...kept]), {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: Object.fromEntries([...properties].map(([name, schemas]) => [name, joinSchemas('allOf', schemas)])),
    ...(required.size > 0 && { required: [...required] }),
    ...(isClosed && { additionalProperties: false }),
  });
  return { schema: withoutDangling(folded, schema), conditions: [...conditions] };
}

/** Reference into a branch that has been folded. Some generators refer to the first place where a schema stands. */
const INTO_BRANCH = /^#\/(?:anyOf|oneOf|allOf|not)\//;
const [INLINED_DEPTH_MAX, INLINED_MAX] = [4, 100];

/** Replaces references into folded branches by their targets, and recursive ones by any value. */
function withoutDangling(folded: Schema, root: Schema): Schema {
  if (!/"#\/(?:anyOf|oneOf|allOf|not)\//.test(JSON.stringify(folded))) return folded;
  let inlined = 0;
  const budget = new SchemaBudget(JSON.stringify(root).length);
  const inline = (value: unknown, depth: number): unknown => {
    if (Array.isArray(value)) return value.map((item) => inline(item, depth));
    if (!isObject(value)) return value;
    if (typeof value.$ref === 'string' && INTO_BRANCH.test(value.$ref)) {
      const target = depth < INLINED_DEPTH_MAX && inlined++ < INLINED_MAX ? resolveReference(root, value.$ref) : undefined;
      return target === undefined || !budget.take(target) ? {} : inline(target, depth + 1);
    }
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inline(item, depth)]));
  };
  return inline(folded, 0) as Schema;
}
