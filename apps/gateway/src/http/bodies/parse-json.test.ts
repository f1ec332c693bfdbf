import { GatewayError } from '#inference/errors.js';
import { parseJson } from './parse-json.js';

function refusal(body: string | Buffer): { code: string; message: string } {
  try {
    parseJson(Buffer.from(body as string));
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('it parsed');
}

test.each([
  ['', 'Unexpected end of JSON input.'],
  ['{\n  "a": 1\n  "b": 2\n}', "Expected ',' or '}' after property value in JSON at position 13 (line 3 column 3)."],
  ['{"prompt":"my secret", "a": x}', "Unexpected token 'x'."],
  ['undefined', 'Unexpected token.'],
])('%j is refused with the fault and its position, and nothing of it is quoted [json-bodies, error-invalid-json]', (body, fault) => {
  expect(refusal(body)).toEqual({ code: 'invalid_json', message: `The request body is not valid JSON: ${fault}` });
});

test('bytes that are not UTF-8 are not JSON', () => {
  expect(refusal(Buffer.from([0x22, 0xff, 0x22])).code).toBe('invalid_json');
});

test.each(['{"a":[{"__proto__":{"b":1}}]}', '{"constructor":{"prototype":1}}'])(
  'keys such as `__proto__` are ordinary data: %s',
  (body) => {
    expect(JSON.stringify(parseJson(Buffer.from(body)))).toBe(body);
    expect(({} as { b?: number }).b).toBeUndefined();
  },
);

test('one byte order mark before the JSON is skipped [json-bodies]', () => {
  expect(parseJson(Buffer.from('\ufeff{"a":"\ufeff"}'))).toEqual({ a: '\ufeff' });
  expect(refusal('\ufeff\ufeff{}').code).toBe('invalid_json');
});

test('depth is limited [limit-values]', () => {
  expect(parseJson(Buffer.from(`${'['.repeat(128)}${']'.repeat(128)}`))).toBeDefined();
  expect(refusal(`${'['.repeat(129)}${']'.repeat(129)}`)).toEqual({
    code: 'invalid_request',
    message: 'The request body is nested deeper than 128 levels.',
  });
});

test.each([
  ['items', `[${'0,'.repeat(49_999)}0]`],
  ['long numbers', `[${'1e9999,'.repeat(49_999)}0]`],
  ['fields', `{${'"a":1,'.repeat(49_999)}"b":1}`],
  ['arrays within arrays', `[${Array.from({ length: 1_000 }, () => '['.repeat(50) + ']'.repeat(50)).join(',')}]`],
])('the number of values is limited: %s [limit-values]', (_name, body) => {
  expect(refusal(body)).toEqual({ code: 'invalid_request', message: 'The request body holds more than 50000 values.' });
});

test('values up to the limit pass [limit-values]', () => {
  expect(parseJson(Buffer.from(`[${'0,'.repeat(49_997)}0]`))).toHaveLength(49_998);
});

test('the number of different field names is limited, not the number of fields [limit-values]', () => {
  const objects = (names: number): string => `[${Array.from({ length: 24_000 }, (_, index) => `{"k${index % names}" :1}`).join()}]`;
  expect(refusal(objects(20_001))).toEqual({
    code: 'invalid_request',
    message: 'The request body holds more than 20000 different field names.',
  });
  expect(parseJson(Buffer.from(objects(20_000)))).toHaveLength(24_000);
});

test('brackets within strings do not count as structure', () => {
  const value = { quoted: `${'['.repeat(100)}\\"`, value: '__proto__', 'back\\slash\\': '"', emoji: '😀' };
  expect(parseJson(Buffer.from(JSON.stringify(value)))).toEqual(value);
});

test('numbers with more digits than a double are rendered unchanged [T-46]', () => {
  const text =
    '{"id":12345678901234567890,"half":0.1234567890123456789,"split":123456789.123456789,"huge":1e400,"count":3,"text":"12345678901234567890"}';
  const parsed = parseJson(Buffer.from(text)) as { count: number };
  expect([JSON.stringify(parsed), parsed.count]).toEqual([text, 3]);
});

test.each(['123456789.123456789', '-1234567890.12345678', '1e400', '-1E+999'])('%s alone makes the body parse exactly [T-46]', (number) => {
  expect(JSON.stringify(parseJson(Buffer.from(`{"a":[true,${number},null]}`)))).toBe(`{"a":[true,${number},null]}`);
});
