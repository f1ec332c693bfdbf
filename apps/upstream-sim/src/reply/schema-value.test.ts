import { schemaValue } from './schema-value.js';

test.each<[string, Record<string, unknown>, unknown]>([
  ['required properties only', { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'] }, { a: 'sim' }],
  ['no schema', {}, {}],
  ['an enum', { type: 'string', enum: ['x', 'y'] }, 'x'],
  ['a constant', { const: 7 }, 7],
  ['a nullable type', { type: ['number', 'null'] }, 0],
  ['an integer above an exclusive bound', { type: 'integer', exclusiveMinimum: 4 }, 5],
  ['a negative range', { type: 'integer', minimum: -9, maximum: -3 }, -3],
  ['a multiple', { type: 'integer', minimum: 5, multipleOf: 4 }, 8],
  ['a string of some length', { type: 'string', minLength: 5 }, 'simxx'],
  ['a short string', { type: 'string', maxLength: 1 }, 's'],
  ['a date', { type: 'string', format: 'date' }, '2024-01-01'],
  ['an array of some length', { type: 'array', minItems: 2, items: { type: 'boolean' } }, [false, false]],
  ['an empty array', { type: 'array', items: { type: 'boolean' } }, []],
  ['the first of several', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 0],
  [
    'references and parts',
    {
      type: 'object',
      properties: { p: { $ref: '#/$defs/point' } },
      required: ['p'],
      $defs: { point: { allOf: [{ properties: { x: { type: 'integer', minimum: 1 } }, required: ['x'] }, { type: 'object' }] } },
    },
    { p: { x: 1 } },
  ],
])('gives a small valid value for %s', (_name, schema, value) => {
  expect(schemaValue(schema)).toEqual(value);
});

test('a recursive schema ends', () => {
  const schema = { $ref: '#/$defs/n', $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } }, required: ['next'] } } };
  expect(JSON.stringify(schemaValue(schema))).toMatch(/^(\{"next":)+null\}+$/);
});
