import { isObject } from '../replies/json-object.js';
import { SchemaBudget } from './schema-budget.js';
import { resolveReference, type Schema } from './schema-reference.js';

/** The properties that a schema allows. */
export interface Shape {
  /** The schemas of each property, all of which hold. */
  properties: Map<string, Set<unknown>>;
  required: Set<string>;
  isClosed: boolean;
  description?: string | undefined;
  /** Conditions that the properties do not express, in words. */
  conditions: Set<string>;
}

/** Limits of the work on one schema, because the client chooses its form. Branches beyond them are left out. */
const [LENGTH_MAX, DEPTH_MAX, PROPERTIES_MAX] = [256 * 1024, 8, 10_000];

/**
 * Returns the properties of a schema and of the branches at its root. Where not all of it can be expressed, the properties allow more
 * than the schema, and the conditions say the rest. A property of some branches has the same form in all.
 */
export function foldSchema(schema: Schema): Shape {
  const { length } = JSON.stringify(schema);
  return new Fold(schema, length > LENGTH_MAX ? 0 : PROPERTIES_MAX, new SchemaBudget(length)).foldShape(schema, 0);
}

class Fold {
  private readonly known = new Map<Schema, Shape>();

  constructor(
    private readonly root: Schema,
    private propertiesLeft: number,
    private readonly budget: SchemaBudget,
  ) {}

  foldShape(schema: Schema, depth: number): Shape {
    const before = this.known.get(schema);
    if (before !== undefined) return before;
    const shape = ownShape(schema);
    this.known.set(schema, { ...shape, properties: new Map(shape.properties), required: new Set(shape.required) }); // met again inside itself
    if (depth < DEPTH_MAX && this.propertiesLeft > 0) this.addBranches(shape, schema, depth + 1);
    this.known.set(schema, shape);
    return shape;
  }

  private addBranches(shape: Shape, schema: Schema, depth: number): void {
    const { $ref, allOf } = schema;
    const target = typeof $ref === 'string' ? resolveReference(this.root, $ref) : undefined;
    for (const branch of target === undefined ? listBranches(allOf) : [target, ...listBranches(allOf)]) {
      this.addAll(shape, this.foldShape(branch, depth));
    }
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const branches = listBranches(schema[keyword]).filter(({ type }) => type !== 'null');
      const shapes = branches.map((branch) => this.foldShape(branch, depth));
      if (shapes.length === 1) this.addAll(shape, shapes[0] as Shape);
      else if (shapes.length > 1) this.addAny(shape, shapes, keyword);
    }
  }

  private addAll(own: Shape, other: Shape): void {
    for (const [name, schemas] of other.properties) for (const schema of schemas) this.addProperty(own, name, schema);
    for (const name of other.required) own.required.add(name);
    for (const condition of other.conditions) own.conditions.add(condition);
    own.isClosed ||= other.isClosed;
    own.description ??= other.description;
  }

  private addAny(own: Shape, shapes: readonly Shape[], keyword: 'anyOf' | 'oneOf'): void {
    const names = new Set(shapes.flatMap(({ properties }) => [...properties.keys()]));
    for (const name of names) {
      const having = shapes.filter(({ properties }) => properties.has(name));
      if (own.properties.has(name) && having.length < shapes.length) continue; // the others allow what the schema itself allows
      const forms = having.map(({ properties }) => [...(properties.get(name) ?? [])]);
      const isAffordable = forms.every((schemas) => this.budget.take(schemas));
      this.addProperty(
        own,
        name,
        isAffordable
          ? joinSchemas(
              'anyOf',
              forms.map((schemas) => joinSchemas('allOf', schemas)),
            )
          : {},
      );
    }
    const [first, ...others] = shapes as [Shape, ...Shape[]];
    for (const name of first.required) if (others.every(({ required }) => required.has(name))) own.required.add(name);
    own.isClosed ||= shapes.every(({ isClosed }) => isClosed);
    const forms = distinct(shapes.map(describe).filter((form) => this.budget.take(form)));
    const count = keyword === 'oneOf' ? 'exactly one' : 'at least one';
    if (forms.length > 1) own.conditions.add(`The arguments need ${count} of these forms: ${forms.join(' | ')}`);
  }

  private addProperty(own: Shape, name: string, schema: unknown): void {
    if (this.propertiesLeft-- <= 0) return;
    const schemas = own.properties.get(name);
    if (schemas === undefined) own.properties.set(name, new Set([schema]));
    else own.properties.set(name, new Set([...schemas, schema]));
  }
}

function ownShape({ properties, required, additionalProperties, description, not, enum: values }: Schema): Shape {
  const conditions = new Set<string>();
  if (not !== undefined) conditions.add(`The arguments must not match: ${JSON.stringify(not)}`);
  if (values !== undefined) conditions.add(`The arguments must be one of: ${JSON.stringify(values)}`);
  return {
    properties: new Map(Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => [name, new Set([schema])])),
    required: new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []),
    isClosed: additionalProperties === false,
    description: typeof description === 'string' ? description : undefined,
    conditions,
  };
}

/** Returns a branch in words: its required fields, with their values where they are fixed. */
function describe({ properties, required }: Shape): string {
  const fields = [...required].map((name) => {
    const value = [...(properties.get(name) ?? [])].map(fixedValue).find((fixed) => fixed !== undefined);
    return value === undefined || typeof value === 'object' ? name : `${name} = ${JSON.stringify(value)}`;
  });
  return fields.length > 0 ? fields.join(', ') : 'no required field';
}

function fixedValue(schema: unknown): unknown {
  if (!isObject(schema)) return undefined;
  return Array.isArray(schema.enum) && schema.enum.length === 1 ? schema.enum[0] : schema.const;
}

/** Returns one schema for several; each schema once. */
export function joinSchemas(keyword: 'anyOf' | 'allOf', schemas: Iterable<unknown>): unknown {
  const [first, ...others] = distinct(schemas);
  return others.length === 0 ? first : { [keyword]: [first, ...others] };
}

function distinct(values: Iterable<unknown>): unknown[] {
  return [...new Map([...values].map((value) => [JSON.stringify(value), value])).values()];
}

function listBranches(value: unknown): Schema[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
