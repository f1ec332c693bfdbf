import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { asObjectSchema } from './object-schema.js';

const a = { type: 'string' };
const b = { type: 'number' };

test.each([
  ['{}', {}, { type: 'object', properties: {} }],
  ['a nullable object', { properties: { a }, type: ['object', 'null'] }, { type: 'object', properties: { a } }],
  [
    'allOf: all properties, all required fields, closed if one is',
    {
      description: 'D',
      allOf: [
        { properties: { a }, required: ['a'] },
        { properties: { b }, required: ['b'], additionalProperties: false },
      ],
    },
    { type: 'object', description: 'D', properties: { a, b }, required: ['a', 'b'], additionalProperties: false },
  ],
  [
    'a nullable union: its one object',
    { anyOf: [{ type: 'object', properties: { a }, required: ['a'] }, { type: 'null' }], $defs: { x: b } },
    { type: 'object', properties: { a }, required: ['a'], $defs: { x: b } },
  ],
  [
    'a reference at the root',
    { $ref: '#/$defs/x', $defs: { x: { type: 'object', properties: { a, b }, required: ['b'] } } },
    { type: 'object', properties: { a, b }, required: ['b'], $defs: { x: { type: 'object', properties: { a, b }, required: ['b'] } } },
  ],
  ['a reference to itself', { $ref: '#' }, { type: 'object', properties: {} }],
  [
    'a reference into a branch',
    { anyOf: [{ properties: { a } }, { properties: { b: { $ref: '#/anyOf/0/properties/a' } } }] },
    { type: 'object', properties: { a, b: a } },
  ],
  [
    'a property that only some branches narrow keeps what the schema itself allows',
    { properties: { a }, anyOf: [{ properties: { a: { const: 'x' } } }, {}] },
    { type: 'object', properties: { a } },
  ],
  [
    'a property that each branch narrows may have any of their values',
    { properties: { a }, anyOf: [{ properties: { a: { const: 'x' } } }, { properties: { a: { const: 'y' } } }] },
    { type: 'object', properties: { a: { allOf: [a, { anyOf: [{ const: 'x' }, { const: 'y' }] }] } } },
  ],
])('%s', (_what, schema, expected) => expect(asObjectSchema(schema)).toEqual({ schema: expected, conditions: [] }));

test('what properties cannot express is said in words', () => {
  const tagged = (kind: string, field: string) => ({ properties: { kind: { const: kind }, [field]: a }, required: ['kind', field] });
  expect(asObjectSchema({ oneOf: [tagged('file', 'path'), tagged('text', 'body')], not: { required: ['c'] } })).toEqual({
    schema: {
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'file' }, { const: 'text' }] }, path: a, body: a },
      required: ['kind'],
    },
    conditions: [
      'The arguments must not match: {"required":["c"]}',
      'The arguments need exactly one of these forms: kind = "file", path | kind = "text", body',
    ],
  });
});

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 });
const leaf = fc.record(
  {
    type: fc.constant('object'),
    properties: fc.record(
      { a: fc.constantFrom({}, a), b: fc.constantFrom({}, b), c: fc.constantFrom({}, b, { const: 1 }) },
      { requiredKeys: [] },
    ),
    required: names,
  },
  { requiredKeys: [] },
);
const { schema: anySchema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc
      .tuple(leaf, fc.constantFrom('anyOf', 'oneOf', 'allOf'), fc.array(tie('schema'), { minLength: 1, maxLength: 3 }))
      .map(([own, keyword, branches]) => ({ ...own, [keyword]: branches })),
  ),
}));

testCases(
  'the root is an object of properties, and a schema that is one keeps its bytes',
  { usual: 500, long: 50_000 },
  anySchema,
  (given) => {
    const { schema } = asObjectSchema(given);
    const isOne =
      given.type === 'object' && given.properties !== undefined && !['anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in given);
    expect(schema).toEqual(isOne ? given : expect.objectContaining({ type: 'object', properties: expect.any(Object) }));
    expect(Object.keys(schema).filter((keyword) => /Of$/.test(keyword))).toEqual([]);
    expect(asObjectSchema(schema).schema).toBe(schema);
  },
);

const objects = fc.record({ a: fc.constant('x'), b: fc.constant(2), c: fc.constant(1) }, { requiredKeys: [] });

testCases(
  'arguments that the schema allows stay allowed',
  { usual: 1_000, long: 100_000 },
  fc.tuple(anySchema, objects),
  ([schema, value]) => {
    if (matches(schema, value)) expect(matches(asObjectSchema(schema).schema, value)).toBe(true);
  },
);

/** Validates with the keywords that this file generates. */
function matches(schema: Record<string, unknown>, value: unknown): boolean {
  const branches = (keyword: string) => (schema[keyword] ?? []) as Record<string, unknown>[];
  const count = (keyword: string): number => branches(keyword).filter((branch) => matches(branch, value)).length;
  if (schema.anyOf !== undefined && count('anyOf') === 0) return false;
  if (schema.oneOf !== undefined && count('oneOf') !== 1) return false;
  if (count('allOf') < branches('allOf').length) return false;
  if (schema.const !== undefined && schema.const !== value) return false;
  if (schema.type !== undefined && schema.type !== typeof value) return false;
  if (typeof value !== 'object' || value === null) return true;
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Record<string, unknown>>);
  const isWhole = ((schema.required ?? []) as string[]).every((name) => Object.hasOwn(value, name));
  return (
    isWhole &&
    properties.every(([name, property]) => !Object.hasOwn(value, name) || matches(property, (value as Record<string, unknown>)[name]))
  );
}

test.each<[string, (big: object, count: number) => Record<string, unknown>]>([
  [
    'branches that repeat a large part',
    (big, count) => ({
      $defs: { d: { properties: { x: big } } },
      anyOf: Array.from({ length: count }, (_, at) => ({ $ref: '#/$defs/d', properties: { x: { minLength: at } } })),
    }),
  ],
  [
    'references into a branch with a large part',
    (big, count) => ({
      anyOf: [{ properties: { a: big } }],
      properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { $ref: '#/anyOf/0/properties/a' }])),
    }),
  ],
])('%s make a schema no longer than three times its length', (_what, makeSchema) => {
  const schema = makeSchema({ type: 'string', description: 'x'.repeat(5_000) }, 90);
  expect(JSON.stringify(asObjectSchema(schema).schema).length).toBeLessThan(3 * JSON.stringify(schema).length + 1_000);
});
