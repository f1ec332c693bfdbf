import { outputInstruction } from '#inference/added-texts.js';
import type { OutputFormat } from '#inference/request.js';
import { isObject } from '../replies/json-object.js';
import { resolveReference, type Schema } from './schema-reference.js';

/** Keywords that the upstream accepts as they are. */
const KEPT = new Set(['title', 'description', 'default', '$schema', '$id', '$comment', 'type', 'required', 'additionalProperties']);
/** Formats of strings that the upstream enforces. */
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']);
/** Keywords that change what a schema means so much that words beside it do not do. */
const UNFIT = new Set(['$dynamicRef', '$recursiveRef', 'patternProperties', 'prefixItems', 'unevaluatedProperties']);

/** The most optional properties and unions in the schemas of one request; a grammar of more takes too long to compile. */
const [OPTIONAL_MAX, UNIONS_MAX] = [24, 16];

/** Thrown inside this file for a schema that the upstream cannot enforce. */
class Unfit extends Error {}

/**
 * Returns a JSON Schema in the form that the upstream compiles to a grammar: limits that it refuses, such as `minimum` or `pattern`, go into
 * the description of their place. Returns undefined for a schema that it cannot enforce: open objects, recursion, values of any type, too
 * many choices.
 */
export function toGrammarSchema(schema: Schema): Schema | undefined {
  if (schema.type !== 'object') return undefined;
  try {
    assertNoRecursion(schema, schema, new Set(), new Set());
    const fitted = fit(schema);
    const { optional, unions } = countChoices(fitted);
    return optional <= OPTIONAL_MAX && unions <= UNIONS_MAX ? fitted : undefined;
  } catch (error) {
    if (error instanceof Unfit || error instanceof RangeError) return undefined; // a range error: nested too deeply
    throw error;
  }
}

/**
 * Returns the schema that the upstream enforces. Undefined where there is none, where it is refused, or where the words for the limits that
 * are refused make it longer than the instruction: the hold counts no more than that.
 */
export function enforcedSchema(output: OutputFormat): Schema | undefined {
  const schema = output.kind === 'json-schema' && output.strict ? toGrammarSchema(output.schema) : undefined;
  const isCovered = schema !== undefined && Buffer.byteLength(JSON.stringify(schema)) <= Buffer.byteLength(outputInstruction(output));
  return isCovered ? schema : undefined;
}

/** True for a schema that is enforced as it is. A tool with any other goes without `strict`, so that its limits stay. */
export function isGrammarSchema(schema: Schema): boolean {
  return JSON.stringify(toGrammarSchema(schema)) === JSON.stringify(schema);
}

function fit(value: unknown): Schema {
  if (!isObject(value)) throw new Unfit();
  assertBounded(value);
  const fitted: Schema = {};
  const limits: string[] = [];
  for (const [keyword, given] of Object.entries(value)) {
    const taken = fitKeyword(keyword, given);
    if (taken === undefined) limits.push(inWords(keyword, given));
    else fitted[keyword === 'oneOf' ? 'anyOf' : keyword] = taken;
  }
  if (limits.length === 0) return fitted;
  const text = limits.join(', ');
  return { ...fitted, description: typeof value.description === 'string' ? `${value.description}\n${text}` : text };
}

/** Sentences for limits that the upstream refuses, by keyword: a model understands them better than keywords without their place. */
const SENTENCES: Record<string, (value: string) => string> = {
  pattern: (value) => `matches the regular expression ${value}`,
  format: (value) => `in the form of a ${value}`,
  minimum: (value) => `at least ${value}`,
  maximum: (value) => `at most ${value}`,
  exclusiveMinimum: (value) => `more than ${value}`,
  exclusiveMaximum: (value) => `less than ${value}`,
  multipleOf: (value) => `a multiple of ${value}`,
  minLength: (value) => `at least ${value} characters`,
  maxLength: (value) => `at most ${value} characters`,
  minItems: (value) => `at least ${value} items`,
  maxItems: (value) => `at most ${value} items`,
  minProperties: (value) => `at least ${value} properties`,
  maxProperties: (value) => `at most ${value} properties`,
};

function inWords(keyword: string, given: unknown): string {
  const sentence = Object.hasOwn(SENTENCES, keyword) ? SENTENCES[keyword] : undefined;
  if (sentence !== undefined && (typeof given === 'number' || typeof given === 'string')) return sentence(String(given));
  if (keyword === 'uniqueItems' && given === true) return 'all items different';
  return `${keyword}: ${JSON.stringify(given)}`;
}

/** Returns the value of a keyword as the upstream takes it; undefined for a keyword that becomes text. */
function fitKeyword(keyword: string, given: unknown): unknown {
  if (KEPT.has(keyword)) return given;
  if (UNFIT.has(keyword)) throw new Unfit();
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return fitEach(given);
    case 'items':
      return fit(given);
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return fitBranches(keyword, given);
    case '$ref':
      if (typeof given !== 'string' || !/^#\/(?:\$defs|definitions)\/[^/]+$/.test(given)) throw new Unfit();
      return given;
    case 'enum':
      if (!Array.isArray(given) || given.some(isComplex)) throw new Unfit();
      return given;
    case 'const':
      if (isComplex(given)) throw new Unfit();
      return given;
    case 'format':
      return typeof given === 'string' && FORMATS.has(given) ? given : undefined;
    case 'minItems':
      return given === 0 || given === 1 ? given : undefined;
    default:
      return undefined;
  }
}

function fitEach(given: unknown): Schema {
  if (!isObject(given)) throw new Unfit();
  return Object.fromEntries(Object.entries(given).map(([name, schema]) => [name, fit(schema)]));
}

function fitBranches(keyword: string, given: unknown): Schema[] {
  if (!Array.isArray(given) || given.length === 0) throw new Unfit();
  if (keyword === 'allOf' && given.some((branch) => isObject(branch) && branch.$ref !== undefined)) throw new Unfit();
  return given.map(fit);
}

/** Throws for a schema of any value, an array of any items, and an object that takes fields which the schema does not name. */
function assertBounded({ type, properties, items, additionalProperties, ...others }: Schema): void {
  const types = Array.isArray(type) ? type : [type];
  const isObjectSchema = types.includes('object') || properties !== undefined;
  if ((isObjectSchema || additionalProperties !== undefined) && additionalProperties !== false) throw new Unfit();
  if (types.includes('array') && items === undefined) throw new Unfit();
  const says = ['$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'].some((keyword) => others[keyword] !== undefined);
  if (type === undefined && !says) throw new Unfit();
  if (others.anyOf !== undefined && others.oneOf !== undefined) throw new Unfit();
}

function isComplex(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** Throws `Unfit` when a schema refers to one that contains it. `within`: the schemas around it. */
function assertNoRecursion(value: unknown, root: Schema, within: Set<unknown>, passed: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || passed.has(value)) return;
  if (within.has(value)) throw new Unfit();
  within.add(value);
  const { $ref: reference } = value as Schema;
  if (typeof reference === 'string') {
    const target = resolveReference(root, reference);
    if (target === undefined) throw new Unfit();
    assertNoRecursion(target, root, within, passed);
  }
  for (const part of Object.values(value)) assertNoRecursion(part, root, within, passed);
  within.delete(value);
  passed.add(value);
}

function countChoices(schema: Schema): { optional: number; unions: number } {
  const { properties = {}, required, anyOf = [], allOf = [], items = [], $defs = {}, definitions = {} } = schema;
  const names = Array.isArray(required) ? new Set(required) : new Set();
  const count = {
    optional: Object.keys(properties as Schema).filter((name) => !names.has(name)).length,
    unions: schema.anyOf !== undefined || Array.isArray(schema.type) ? 1 : 0,
  };
  for (const part of [properties, anyOf, allOf, [items].flat(), $defs, definitions].flatMap((parts) => Object.values(parts as Schema))) {
    const { optional, unions } = countChoices(part as Schema);
    count.optional += optional;
    count.unions += unions;
  }
  return count;
}
