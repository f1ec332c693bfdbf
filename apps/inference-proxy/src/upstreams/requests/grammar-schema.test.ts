import { toGrammarSchema } from './grammar-schema.js';

const closed = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});
const text = { type: 'string' };

test('a schema that the dialect enforces keeps its bytes', () => {
  const point = closed({ x: { type: 'number' } });
  const schema = closed(
    {
      name: { description: 'N', type: ['string', 'null'] },
      when: { format: 'date', type: 'string' },
      tags: { type: 'array', items: text, minItems: 1 },
      kind: { enum: ['a', 'b'] },
      either: { anyOf: [text, { $ref: '#/$defs/point' }] },
    },
    { $defs: { point }, title: 'T' },
  );
  expect(JSON.stringify(toGrammarSchema(schema))).toBe(JSON.stringify(schema));
});

test.each([
  ['ranges', { type: 'integer', minimum: 0, exclusiveMaximum: 9 }, { type: 'integer', description: 'at least 0, less than 9' }],
  ['lengths', { description: 'A name', ...text, minLength: 2 }, { description: 'A name\nat least 2 characters', ...text }],
  [
    'limits of numbers',
    { type: 'number', exclusiveMinimum: 0, maximum: 1e21, multipleOf: 0.5 },
    { type: 'number', description: 'more than 0, at most 1e+21, a multiple of 0.5' },
  ],
  [
    'sets',
    { type: 'array', items: text, uniqueItems: true, maxItems: 5 },
    { type: 'array', items: text, description: 'all items different, at most 5 items' },
  ],
  ['limits of another kind', { ...text, maxLength: [9] }, { ...text, description: 'maxLength: [9]' }],
  ['a pattern', { ...text, pattern: '^a"$' }, { ...text, description: 'matches the regular expression ^a"$' }],
  [
    'a format that has no text',
    { ...text, format: { toString: 1, valueOf: 1 } },
    { ...text, description: 'format: {"toString":1,"valueOf":1}' },
  ],
  ['another format', { ...text, format: 'color' }, { ...text, description: 'in the form of a color' }],
  [
    'items',
    { type: 'array', items: text, minItems: 2, maxItems: 3 },
    { type: 'array', items: text, description: 'at least 2 items, at most 3 items' },
  ],
  ['oneOf', { oneOf: [text, { type: 'null' }] }, { anyOf: [text, { type: 'null' }] }],
])('%s that it refuses become words or are rewritten', (_what, given, expected) => {
  expect(toGrammarSchema(closed({ a: given }))).toEqual(closed({ a: expected }));
});

const recursive = closed({ child: { $ref: '#/$defs/node' } });

test.each([
  ['an open object', { ...closed({}), additionalProperties: undefined }],
  ['a map', closed({ a: { type: 'object', additionalProperties: text } })],
  ['an open object inside', closed({ a: { type: 'array', items: { type: 'object' } } })],
  ['recursion to the root', closed({ a: { $ref: '#' } })],
  ['recursion of a definition', closed({ a: { $ref: '#/$defs/node' } }, { $defs: { node: recursive } })],
  ['a reference that has no text', closed({ a: { $ref: { toString: 1, valueOf: 1 } } })],
  ['a reference elsewhere', closed({ a: { $ref: 'https://example.com/schema' } })],
  ['any value', closed({ a: {} })],
  ['any items', closed({ a: { type: 'array' } })],
  ['a tuple', closed({ a: { type: 'array', prefixItems: [text], items: text } })],
  ['objects among the values', closed({ a: { enum: [{ b: 1 }] } })],
  ['a reference in allOf', closed({ a: { allOf: [{ $ref: '#/$defs/x' }] } }, { $defs: { x: text } })],
  ['a root that is no object', { type: 'array', items: text }],
  [
    'too many optional properties',
    { ...closed(Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`p${index}`, text]))), required: [] },
  ],
  ['too many unions', closed(Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`p${index}`, { type: ['string', 'null'] }])))],
])('%s cannot be enforced', (_what, schema) => expect(toGrammarSchema(schema)).toBeUndefined());
