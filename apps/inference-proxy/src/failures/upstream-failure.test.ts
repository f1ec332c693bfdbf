import { asking } from '../../test/inference-fixture.js';
import { rememberKey } from './known-keys.js';
import { redact, UpstreamFailure } from './upstream-failure.js';

test.each([
  ['Incorrect API key provided: sk-proj-abc123DEF456.', 'Incorrect API key provided: sk-….'],
  ['authorization: Bearer abc.def', 'authorization: Bearer …'],
  [`bad token ${'a1'.repeat(30)}`, 'bad token …'],
  ["field 'messages' is wrong", "field 'messages' is wrong"],
  [`input "${'my secret diary '.repeat(4)}" is wrong`, 'input "…" is wrong'],
  ['two\n\nlines', 'two lines'],
  ['a terminal \u001b[2Jis steered', 'a terminal [2Jis steered'],
])('%j is logged as %j', (text, logged) => {
  expect(redact(text)).toBe(logged);
});

test('a key of ours is taken out whatever it looks like, also where the text is cut', () => {
  const key = 'd41d8cd98f00b204e9800998ecf8427e';
  rememberKey(key);
  rememberKey('EMPTY');
  expect(redact(`wrong key ${key}: EMPTY`)).toBe('wrong key …: EMPTY');
  expect(redact(`${' '.repeat(790)}${key}`)).toBe('…');
});

test('long texts are cut', () => {
  expect(redact('word '.repeat(500))).toHaveLength(201);
});

test('the message for clients is ours, whatever the detail', () => {
  const failure = new UpstreamFailure('refused', 'upstream_error', { detail: 'their words' });
  expect({ message: failure.message, detail: failure.detail, retryable: failure.retryable }).toEqual({
    message: 'The model failed to produce a response.',
    detail: 'their words',
    retryable: true,
  });
});

test.each([
  ['upstream_error', true],
  ['model_capacity', false],
  ['internal_error', false],
] as const)('beyond a limit with %s: another route may do better: %s', (code, retryable) => {
  expect(new UpstreamFailure('limit', code).retryable).toBe(retryable);
});

test('words of ours are only shortened: what they name is for operators to know, but for a key', () => {
  rememberKey('a-key-of-somebody');
  const reason = `no key in API_KEY_OF_OURS, nor in ${'x'.repeat(64)}: 'a-key-of-somebody'`;
  const { detail } = new UpstreamFailure('denied', 'model_unavailable', { reason });
  expect(detail).toBe(`no key in API_KEY_OF_OURS, nor in ${'x'.repeat(64)}: '…'`);
});

test('an upstream’s words go without those of the request, also where they are cut', async () => {
  const prompt = 'My neighbour has a dreadful secret. '.repeat(40);
  const request = asking(prompt);
  const detailOf = async (detail: string): Promise<string> =>
    (await new UpstreamFailure('refused', 'upstream_error', { detail }).withoutEcho(request)).detail;
  expect(await detailOf(`boom: ${prompt} in line 3`)).toBe('boom: …');
  expect(await detailOf(`${'word '.repeat(39)}${prompt}`)).toBe(`${'word '.repeat(39)}…`);
  expect(await detailOf('no such model')).toBe('no such model');
});
