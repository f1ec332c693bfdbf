import fc from 'fast-check';
import { GatewayError } from '#inference/errors.js';
import { DocumentSchemas } from '#testing/document-schemas.js';
import { testCases } from '#testing/long-run.js';
import { replaceValue } from '#testing/replace-value.js';
import { openApiDocument } from '../../openapi/document.js';
import { parseRequest } from './request.js';

const TEXT = { model: 'm', input: 'Hello' };
const TOKENS_MAX = 2 ** 31 - 1;

test.each<[what: string, body: object, expected: object]>([
  ['a text', TEXT, { inputs: ['Hello'] }],
  ['texts', { model: 'm', input: ['a', 'b'] }, { inputs: ['a', 'b'] }],
  ['the tokens of a text', { model: 'm', input: [0, TOKENS_MAX] }, { inputs: [[0, TOKENS_MAX]] }],
  ['tokens of texts', { model: 'm', input: [[1], [2, 3]] }, { inputs: [[1], [2, 3]] }],
  ['short vectors', { ...TEXT, dimensions: 8 }, { inputs: ['Hello'], dimensions: 8 }],
])('%s', (_what, body, embedding) => {
  expect(parseRequest(body).request).toEqual({
    ...{ model: 'm', turns: [], tools: [], output: { kind: 'text' }, stream: false, hints: {} },
    embedding,
  });
});

test('the form of the vectors and the end user; null is absent', () => {
  const { encoding, attribution } = parseRequest({ ...TEXT, encoding_format: 'base64', dimensions: null, user: 'alice' });
  expect([encoding, attribution?.user, parseRequest(TEXT).encoding]).toEqual(['base64', 'alice', 'float']);
});

test.each<[param: string, change: object]>([
  ['model', { model: '' }],
  ['input', { input: undefined }],
  ['input', { input: '' }],
  ['input', { input: [] }],
  ['input', { input: 7 }],
  ['input', { input: [1, 'a'] }],
  ['input', { input: [1.5] }],
  ['input', { input: [TOKENS_MAX + 1] }],
  ['input', { input: Array(2_049).fill('a') }],
  ['input[1]', { input: ['a', ''] }],
  ['input[1]', { input: ['a', null] }],
  ['input[1]', { input: [[1], []] }],
  ['input[1]', { input: [[1], [-1]] }],
  ['dimensions', { dimensions: 0 }],
  ['encoding_format', { encoding_format: 'int8' }],
  ['user', { user: 7 }],
])('refused with param %s: %j', (param, change) => {
  expect(() => parseRequest({ ...TEXT, ...change })).toThrow(expect.objectContaining({ code: 'invalid_request', param }));
});

const schemas = new DocumentSchemas(openApiDocument());
const inputs = fc.oneof(
  fc.string(),
  fc.array(fc.oneof(fc.string({ maxLength: 3 }), fc.array(fc.integer({ min: -1, max: 5 }), { maxLength: 3 })), { maxLength: 4 }),
  fc.array(fc.integer({ min: -1, max: 5 }), { maxLength: 3 }),
);
const bodies = fc.record({
  model: fc.constant('m'),
  input: inputs,
  dimensions: fc.constantFrom(1, 8),
  encoding_format: fc.constant('base64'),
});
const strange = fc.constantFrom(null, '', 'text', 0, -1, 1.5, true, [], {}, [null], [{}], undefined);

testCases(
  'the OpenAPI schema agrees with the parser about any body',
  { usual: 500, long: 20_000 },
  fc
    .tuple(bodies, fc.nat(), strange, fc.boolean())
    .map(([body, place, value, changes]) => (changes ? replaceValue(body, place, value) : body)),
  (value) => {
    const body = JSON.parse(JSON.stringify(value) ?? 'null');
    expect({ body, faults: schemas.component('EmbeddingsRequest', body).length > 0 }).toEqual({ body, faults: isRefused(body) });
  },
);

function isRefused(body: unknown): boolean {
  try {
    parseRequest(body);
    return false;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return true;
  }
}
