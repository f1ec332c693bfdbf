import { inspect } from 'node:util';
import { rememberKey } from './known-keys.js';
import { UpstreamFailure } from './upstream-failure.js';

const refusedWith = (upstreamText: string): UpstreamFailure => new UpstreamFailure('refused', 'upstream_error', { upstreamText });

test.each([
  ['two\n\nlines', 'two lines'],
  ['a terminal \u001b[2Jis steered', 'a terminal [2Jis steered'],
  ['word '.repeat(500), `${'word '.repeat(40)}…`],
])('%j is shown to operators as %j', (text, shown) => {
  expect(refusedWith(text).upstreamText).toBe(shown);
});

test('a known key is redacted, also where the text is cut', () => {
  const key = 'd41d8cd98f00b204e9800998ecf8427e';
  rememberKey(key);
  rememberKey('EMPTY');
  expect(refusedWith(`wrong key ${key}: EMPTY`).upstreamText).toBe('wrong key …: EMPTY');
  expect(refusedWith(`${' '.repeat(790)}${key}`).upstreamText).toBe('…');
  expect(new UpstreamFailure('denied', 'model_unavailable', { detail: `no key in FILE nor '${key}'` }).detail).toBe(
    "no key in FILE nor '…'",
  );
});

test('a long part of a known secret is redacted by itself, and the longest text first', () => {
  rememberKey('session=quietorange; relay:greenwinter,Token\tbluesummer id=short');
  rememberKey('longer-key');
  rememberKey('longer-key-and-its-end');
  const text = "is not quietorange, 'greenwinter', bluesummer=1 nor short; longer-key-and-its-end, longer-key";
  expect(refusedWith(text).upstreamText).toBe("is not …, '…', …=1 nor short; …, …");
});

test('neither the message, the detail nor a serialised failure contains the text of the upstream', () => {
  const refusal = { family: 'other', status: 500, upstreamCode: 'server_error' } as const;
  const failure = new UpstreamFailure('refused', 'upstream_error', { refusal, upstreamText: 'their words' });
  expect({ message: failure.message, detail: failure.detail }).toEqual({
    message: 'The model failed to produce a response.',
    detail: 'other 500 server_error',
  });
  expect(inspect(failure, { showHidden: true, depth: 9 }) + JSON.stringify({ ...failure })).not.toContain('their words');
});

test.each([
  ['upstream_error', true],
  ['model_capacity', false],
  ['internal_error', false],
] as const)('beyond a limit with %s, another route may do better: %s', (code, retryable) => {
  expect(new UpstreamFailure('limit', code).retryable).toBe(retryable);
});
