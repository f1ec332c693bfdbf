import type { Schema } from '../asyncapi/json-schema.ts';

/** Tollgate reads the value and must go on accepting it, or writes it and must go on writing what its readers know. */
export type Direction = 'reads' | 'writes';

/** A breaking difference: `AuditListRequest.limit: maximum 500 became 100`. */
type Difference = string;

/** Named schemas of an area before and after. */
export interface Named {
  before: Record<string, Schema>;
  after: Record<string, Schema>;
}

/** Compares schemas of one area, each pair of named ones once. */
export class SchemaComparison {
  private readonly named: Named;
  private readonly known = new Map<string, Difference[]>();

  constructor(named: Named) {
    this.named = named;
  }

  /**
   * Returns where a value of before is no longer accepted (`reads`), or where readers of before meet a value that they do not know
   * (`writes`). New optional properties, new values of a list and new forms of an object break nobody: clients ignore what they do not know.
   */
  compare(place: string, before: Schema, after: Schema, direction: Direction): Difference[] {
    const [name, other] = [refName(before), refName(after)];
    if (name === undefined) return this.compareForms(place, before, after, direction);
    const key = `${direction} ${name} ${other ?? JSON.stringify(after)}`;
    let found = this.known.get(key);
    if (!found) {
      this.known.set(key, []); // set before its properties, which may refer to it
      found = this.compareForms(name, before, after, direction);
      this.known.set(key, found);
    }
    return found;
  }

  private compareForms(place: string, before: Schema, after: Schema, direction: Direction): Difference[] {
    const olds = this.listForms(before, 'before');
    const news = this.listForms(after, 'after');
    const differences = olds.flatMap((old) => this.compareForm(place, old, news, direction));
    if (direction === 'reads') return differences;
    const unknown = [...new Set(news.map(({ type }) => type))].filter((type) => !olds.some((old) => includesType(old.type, type)));
    return [...differences, ...unknown.map((type) => `${place}: may now be ${type}`)];
  }

  /** Compares a form with the one of after that is most like it. */
  private compareForm(place: string, old: Form, news: Form[], direction: Direction): Difference[] {
    const like = news.filter((form) =>
      direction === 'reads' ? includesType(form.type, old.type) && sharesTag(old, form) : old.type === form.type && sharesTag(old, form),
    );
    if (like.length === 0) return direction === 'reads' ? [`${place}: no longer accepts ${nameForm(old)}`] : [];
    const parts = like.length > 1 ? splitByTag(old, like) : [];
    if (parts.length > 0) return parts.flatMap((part) => this.compareForm(place, part, like, direction));
    const alike = like.filter((form) => joinTags(form) === joinTags(old));
    const results = (alike.length > 0 ? alike : like).map((form) => this.compareRules(place, old, form, direction));
    return results.reduce((best, result) => (result.length < best.length ? result : best));
  }

  private compareRules(place: string, old: Form, form: Form, direction: Direction): Difference[] {
    return [
      ...compareValues(place, old, form, direction),
      ...(direction === 'reads' ? compareBounds(place, old.schema, form.schema) : []),
      ...this.compareProperties(place, old.schema, form.schema, direction),
      ...this.compareParts(place, old.schema, form.schema, direction),
    ];
  }

  private compareProperties(place: string, before: Schema, after: Schema, direction: Direction): Difference[] {
    const [olds, news] = [before.properties ?? {}, after.properties ?? {}];
    const required = (schema: Schema, name: string): boolean => schema.required?.includes(name) ?? false;
    const differences = Object.entries(olds).flatMap(([name, old]) => {
      const property = `${place}.${name}`;
      const now = news[name];
      if (!now) return [`${property}: removed`];
      if (direction === 'writes' && required(before, name) && !required(after, name)) return [`${property}: may now be absent`];
      return this.compare(property, old, now, direction);
    });
    if (direction === 'writes') return differences;
    const newlyRequired = (after.required ?? []).filter((name) => !required(before, name));
    return [...differences, ...newlyRequired.map((name) => `${place}.${name}: now required`)];
  }

  private compareParts(place: string, before: Schema, after: Schema, direction: Direction): Difference[] {
    const items = before.items && after.items ? this.compare(`${place}[]`, before.items, after.items, direction) : [];
    const [old, now] = [before.additionalProperties, after.additionalProperties] as (Schema | boolean | undefined)[];
    if (direction === 'reads' && now === false && old !== false) return [...items, `${place}: no longer accepts other properties`];
    const isBoth = typeof old === 'object' && typeof now === 'object';
    return isBoth ? [...items, ...this.compare(`${place}.*`, old, now, direction)] : items;
  }

  /** The simple forms of which a value has one, without references. */
  private listForms(schema: Schema, side: keyof Named): Form[] {
    const name = refName(schema);
    if (name !== undefined) return this.listForms(this.named[side][name] ?? {}, side);
    const { allOf, oneOf, anyOf, ...own } = schema as Schema & { anyOf?: Schema[] };
    const choices = oneOf ?? anyOf;
    let forms = choices ? choices.flatMap((choice) => this.listForms(choice, side)).map((form) => merge(own, form.schema)) : [own];
    for (const part of allOf ?? []) forms = forms.flatMap((form) => this.listForms(part, side).map((other) => merge(form, other.schema)));
    return forms.flatMap((form) => listTypes(form).map((type) => ({ type, schema: form })));
  }
}

/** A schema of one type, without references and choices. */
interface Form {
  type: string;
  schema: Schema;
}

function refName({ $ref }: Schema): string | undefined {
  return $ref?.slice($ref.lastIndexOf('/') + 1);
}

function merge(one: Schema, other: Schema): Schema {
  const properties = { ...one.properties, ...other.properties };
  const required = [...(one.required ?? []), ...(other.required ?? [])];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

function listTypes(schema: Schema): string[] {
  if (schema.type !== undefined) return [schema.type].flat().filter((type) => type !== undefined);
  if (schema.properties || schema.additionalProperties) return ['object'];
  const values = listValues(schema);
  if (values) return [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  return ['anything'];
}

function includesType(wide: string, type: string): boolean {
  return wide === 'anything' || wide === type || (wide === 'number' && type === 'integer');
}

function listValues(schema: Schema): unknown[] | undefined {
  return schema.const === undefined ? schema.enum : [schema.const];
}

/** False for objects that a property tells apart, such as `type`: one is not the other's next version. */
function sharesTag(old: Form, form: Form): boolean {
  return Object.entries(old.schema.properties ?? {}).every(([name, property]) => {
    const [values, others] = [listValues(property), listValues(form.schema.properties?.[name] ?? {})];
    return !values || !others || values.some((value) => others.includes(value));
  });
}

function joinTags({ schema }: Form): string {
  const tags = Object.entries(schema.properties ?? {}).filter(([, property]) => property.const !== undefined);
  return tags.map(([name]) => name).join();
}

/** One form for each value of a property whose values belong to different forms of after; none if there is no such property. */
function splitByTag({ type, schema }: Form, like: Form[]): Form[] {
  const { properties = {} } = schema;
  const isDivided = ([name, { enum: values = [] }]: [string, Schema]): boolean =>
    values.length > 1 &&
    like.some((form) => listValues(form.schema.properties?.[name] ?? {})?.some((value) => values.includes(value))) &&
    !like.some((form) => values.every((value) => (listValues(form.schema.properties?.[name] ?? {}) ?? values).includes(value)));
  const [tag] = Object.entries(properties).filter(isDivided);
  if (!tag) return [];
  const [name, { enum: values = [], ...rest }] = tag;
  return values.map((value) => ({ type, schema: { ...schema, properties: { ...properties, [name]: { ...rest, const: value } } } }));
}

function nameForm({ type, schema }: Form): string {
  const values = listValues(schema);
  if (values) return values.map((value) => JSON.stringify(value)).join(', ');
  const [tag] = Object.entries(schema.properties ?? {}).filter(([, property]) => property.const !== undefined);
  return tag ? `an object with ${tag[0]} ${JSON.stringify(tag[1].const)}` : type;
}

function compareValues(place: string, old: Form, form: Form, direction: Direction): Difference[] {
  const keepType = (values: unknown[] | undefined) =>
    values?.filter((value) => includesType(old.type, value === null ? 'null' : typeof value) || old.type === 'integer');
  const [olds, news] = [keepType(listValues(old.schema)), keepType(listValues(form.schema))];
  if (direction === 'writes') return olds && !news ? [`${place}: may now be any ${form.type}`] : [];
  if (!news) return [];
  if (!olds) return [`${place}: now only ${news.map((value) => JSON.stringify(value)).join(', ')}`];
  const removed = olds.filter((value) => !news.includes(value));
  return removed.map((value) => `${place}: no longer accepts ${JSON.stringify(value)}`);
}

const LEAST = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const MOST = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
/** Rules of which no order is known: any change counts. */
const EXACT = ['pattern', 'format', 'multipleOf', 'uniqueItems'];

function compareBounds(place: string, before: Schema, after: Schema): Difference[] {
  const narrows = (rule: string): boolean => {
    const [old, now] = [before[rule], after[rule]];
    if (now === undefined || now === old) return false;
    if (EXACT.includes(rule) || old === undefined) return true;
    return LEAST.includes(rule) ? Number(now) > Number(old) : Number(now) < Number(old);
  };
  const show = (value: unknown): string => (value === undefined ? 'none' : String(value));
  return [...LEAST, ...MOST, ...EXACT]
    .filter(narrows)
    .map((rule) => `${place}: ${EXACT.includes(rule) ? `another ${rule}` : `${rule} ${show(before[rule])} became ${show(after[rule])}`}`);
}
