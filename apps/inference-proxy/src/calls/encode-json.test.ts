import fc from 'fast-check';
import { parseExactly } from '#inference/exact-json.js';
import { turnsDuring } from '#testing/event-loop-turns.js';
import { testCases } from '#testing/long-run.js';
import { encodeJsonInSlices } from './encode-json.js';

testCases(
  'any value is encoded as JSON.stringify has it',
  { usual: 500, long: 20_000 },
  fc.object({ withBoxedValues: false }),
  async (value) => {
    expect((await encodeJsonInSlices(value)).toString()).toBe(JSON.stringify(value));
  },
);

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
