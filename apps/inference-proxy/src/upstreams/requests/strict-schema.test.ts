import { isStrictSchema } from './strict-schema.js';

const closed = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

test.each<[string, unknown]>([
  ['all of its properties required and no others allowed', closed({ a: { type: 'string' }, b: closed({}) })],
  ['no objects in it', { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } }],
  ['values that look like schemas', closed({ a: { enum: ['object'], const: { type: 'object' } } })],
])('a schema with %s is strict', (_name, schema) => {
  expect(isStrictSchema(schema)).toBe(true);
});

const open = { type: 'object', properties: {} };

test.each<[string, unknown]>([
  ['an optional property', closed({ a: { type: 'string' }, b: { type: 'string' } }, ['a'])],
  ['other properties allowed', open],
  ['such an object as a property', closed({ a: open })],
  ['such an object in a list', closed({ a: { type: 'array', items: open } })],
  ['such an object as a choice', closed({ a: { anyOf: [open, { type: 'null' }] } })],
  ['such an object as a definition', { ...closed({ a: { $ref: '#/$defs/a' } }), $defs: { a: open } }],
])('a schema with %s is not [messages-output-format]', (_name, schema) => {
  expect(isStrictSchema(schema)).toBe(false);
});
