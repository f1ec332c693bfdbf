/**
 * A schema in the JSON Schema dialect of OpenAPI 3.1. The functions below build the schemas of the formats. An optional field of a
 * request may also be null; an optional field of a reply is absent.
 */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export type Properties = Readonly<Record<string, JsonSchema>>;

/** Returns a reference to a schema of the document's components. */
export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function requestObject(required: Properties, optional: Properties = {}): JsonSchema {
  return replyObject(required, Object.fromEntries(Object.entries(optional).map(([name, schema]) => [name, orNull(schema)])));
}

export function replyObject(required: Properties, optional: Properties = {}): JsonSchema {
  const names = Object.keys(required);
  return { type: 'object', ...(names.length > 0 && { required: names }), properties: { ...required, ...optional } };
}

export const text: JsonSchema = { type: 'string' };
/** A string that is not empty. */
export const name: JsonSchema = { type: 'string', minLength: 1 };
export const flag: JsonSchema = { type: 'boolean' };
export const count: JsonSchema = { type: 'integer', minimum: 0 };
export const anyObject: JsonSchema = { type: 'object' };
/** The cost in a usage. */
export const cost: JsonSchema = { type: 'number', minimum: 0, description: 'Dollars, exactly. Only with `x-tollgate-include: cost`.' };
/** Any value. */
export const anything: JsonSchema = {};

/** One of the given strings. */
export function word(...words: readonly string[]): JsonSchema {
  return words.length === 1 ? { type: 'string', const: words[0] } : { type: 'string', enum: words };
}

export function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

export function described(schema: JsonSchema, description: string): JsonSchema {
  return { ...schema, description };
}

/** A value of exactly one of several shapes. */
export function either(...shapes: readonly JsonSchema[]): JsonSchema {
  return { oneOf: shapes };
}

/** Content of a message: a text, or a list of parts. */
export function textOr(part: JsonSchema): JsonSchema {
  return either(text, list(part));
}

/** One of several components, selected by the value of a property. */
export function byProperty(propertyName: string, components: Readonly<Record<string, string>>): JsonSchema {
  const mapping = Object.fromEntries(Object.entries(components).map(([value, component]) => [value, ref(component).$ref]));
  return { oneOf: [...new Set(Object.values(components))].map(ref), discriminator: { propertyName, mapping } };
}

export function orNull(schema: JsonSchema): JsonSchema {
  const { type, const: only, enum: words, description, ...rest } = schema;
  const said = description === undefined ? {} : { description };
  if (type === 'null') return schema;
  if (typeof type !== 'string') {
    if (Object.keys(schema).every((keyword) => keyword === 'description')) return schema;
    return { anyOf: [{ ...rest }, { type: 'null' }], ...said };
  }
  const values = only === undefined ? words : [only];
  return { type: [type, 'null'], ...(values !== undefined && { enum: [...(values as unknown[]), null] }), ...rest, ...said };
}

/** A body that the gateway of `npm start` accepts unchanged. */
export interface RequestExample {
  summary: string;
  value: Readonly<Record<string, unknown>>;
}
