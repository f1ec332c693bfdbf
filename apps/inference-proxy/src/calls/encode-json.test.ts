import fc from 'fast-check';
import { parseExactly } from '#inference/exact-json.js';
import { replaceHalves } from '#inference/whole-characters.js';
import { turnsDuring } from '#testing/event-loop-turns.js';
import { testCases } from '#testing/long-run.js';
import { encodeJson, encodeJsonInSlices } from './encode-json.js';

const halves = fc.constantFrom('a', '\\', '"', '\ud83c', '\udf0d', '🌍');

testCases(
  'any value is encoded as JSON.stringify has it, with whole characters',
  { usual: 500, long: 20_000 },
  fc.object({
    withBoxedValues: false,
    key: fc.string({ unit: 'binary' }),
    values: [fc.string({ unit: halves }), fc.double(), fc.constant(null)],
  }),
  async (value) => {
    const json = encodeJson(value);
    expect([json, json.isWellFormed()]).toEqual([replaceHalves(JSON.stringify(value)), true]);
    expect((await encodeJsonInSlices(value)).toString()).toBe(json);
  },
);

test('half a character becomes U+FFFD wherever it stands, also at a cut, and an escape in a text stays', async () => {
  const long = `${'🌍'.repeat(40_000)}\ud83d`;
  const body = { a: 'cut \ud83d', 'k\udf0d': ['\\ud83d', '🌍'], [`x${long}`]: long, b: `x${long}` };
  const whole = {
    a: 'cut \ufffd',
    'k\ufffd': ['\\ud83d', '🌍'],
    [`x${long.toWellFormed()}`]: long.toWellFormed(),
    b: `x${long.toWellFormed()}`,
  };
  expect(JSON.parse(encodeJson(body))).toEqual(whole);
  const sliced = (await encodeJsonInSlices(body)).toString();
  expect([/\\u[dD][89a-f]/.test(sliced.replaceAll('\\\\', '')), JSON.parse(sliced)]).toEqual([false, whole]);
});

test.each([
  ['a long text with quotes and a pair of surrogates at every cut', { text: 'a"\\\n'.repeat(40_000) + '🌍'.repeat(100_001) }],
  ['a pair of surrogates that begins at an odd place', { text: `a${'🌍'.repeat(100_000)}` }],
  ['many messages', Array.from({ length: 20_000 }, (_, index) => ({ role: 'user', content: [{ type: 'text', text: `${index}` }] }))],
  ['fields and items without a value', { a: undefined, b: [undefined, null], c: { d: undefined } }],
  ['an empty object', {}],
])('%s', async (_what, value) => {
  expect(JSON.parse((await encodeJsonInSlices(value)).toString())).toEqual(JSON.parse(JSON.stringify(value)));
});

test('numbers keep their digits', async () => {
  const text = '{"a":[{"n":12345678901234567890,"s":"x"},1.0000000000000000001]}';
  expect((await encodeJsonInSlices(parseExactly(text) as object)).toString()).toBe(text);
});

test('other work runs while a large value is encoded', async () => {
  expect(await turnsDuring(() => encodeJsonInSlices({ texts: Array.from({ length: 8 }, () => '"'.repeat(1_000_000)) }))).toBeGreaterThan(1);
});
