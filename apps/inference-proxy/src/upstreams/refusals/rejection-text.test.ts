import { makeCall } from '../../../test/conformance.js';
import { rememberKey } from '../../failures/known-keys.js';
import { ADAPTERS } from '../adapters.js';
import { rejectionText } from './rejection-text.js';

const call = (over: object = {}) => ({ ...makeCall(true), ...over });

test.each<[what: string, message: string, shown: string]>([
  ['a plain reason', "Unknown parameter: 'seed'.", "Unknown parameter: 'seed'."],
  [
    'fields that look like hosts',
    'messages.0.content.1: Input should be a valid list, see tool.json',
    'messages.0.content.1: Input should be a valid list, see tool.json',
  ],
  ['line breaks, control and direction characters', 'one\r\n\ttwo\u0000\u001b[31m \u202ethree\u2028four', 'one two [31m three four'],
  [
    'the upstream’s name of the model',
    'upstream-model does not take `seed`; try UPSTREAM-MODEL-2',
    'test-model does not take `seed`; try test-model-2',
  ],
  ['the address', 'POST http://10.1.2.3:8000/v1/chat/completions failed at 10.1.2.3:8000', 'POST … failed at …'],
  ['other addresses', 'see https://docs.vendor.example/x?y=1, 192.168.7.9, [fd00::1]:8080, localhost:9100', 'see … …, …, …'],
  ['hosts', 'node gpu-7.prod.svc.cluster.local said so, and api.vendor.com and vllm-0:8000', 'node … said so, and … and …'],
  ['a key in a common form', 'not with sk-proj-abc_DEF-123456 or Bearer abcdef', 'not with … or …'],
  ['keys of Tollgate', 'neither tg_live_0123456789 nor tg_child_eyJrIjoi-_x is known', 'neither … nor … is known'],
])('%s', (_what, message, shown) => {
  expect(rejectionText(message, call())).toBe(shown);
});

test('a key of this process is hidden, in any form', () => {
  rememberKey('Correct Horse Battery');
  expect(rejectionText('wrong: Correct Horse Battery!', call())).toBe('wrong: …!');
});

test('a model in a folder is named by its last part too', () => {
  const named = call({ model: 'Org/Big$&-7B' });
  expect(rejectionText('Org/Big$&-7B and Big$&-7B are full, Big$&-7Bx is not', named)).toBe(
    'test-model and test-model are full, Big$&-7Bx is not',
  );
});

test('at most 500 characters, none cut in two, and no secret half shown', () => {
  const long = rejectionText('x'.repeat(498) + '😀'.repeat(9), call());
  expect([long.length, long.isWellFormed(), long.endsWith('x…')]).toEqual([499, true, true]);
  expect(rejectionText(`no ${' http://h/'.repeat(700)}`, call())).not.toMatch(/h\//);
  const url = `http://${'h'.repeat(5_000)}.example`;
  expect(rejectionText(`${'https://a.b/ '.repeat(20)}${url}`, call())).not.toContain('hh');
});

test.each(['a.', 'a-', '1.', 'http:', 'x:1', '[', '[a:', 'sk-'])('an endless %s is read in linear time', (piece) => {
  const startedAt = performance.now();
  rejectionText(piece.repeat(64 * 1_024), call());
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

describe.each(Object.values(ADAPTERS))('$kind', (adapter) => {
  const readMessage = (status: number, body: unknown): string =>
    adapter.parseError({ status, headers: {}, body: typeof body === 'string' ? body : JSON.stringify(body) }, call()).message;
  const REJECTED = "The model's server rejected this request";

  test.each<[shape: string, body: unknown, reason: string | undefined]>([
    ['an error object', { error: { message: 'bad field', type: 'invalid_request_error' } }, 'bad field'],
    ['an error in a list', [{ error: { message: 'bad field' } }], 'bad field'],
    ['an error text', { error: 'bad field' }, 'bad field'],
    ['a detail', { detail: 'bad field' }, 'bad field'],
    [
      'faults of FastAPI',
      { detail: [{ loc: ['body', 'seed'], msg: 'not a number', input: 'secret prompt' }, { msg: 'bad' }] },
      'body.seed: not a number; bad',
    ],
    [
      'a place that has no text',
      { detail: [{ loc: ['body', { toString: 1, valueOf: 1 }, ['x'], 0, null], msg: 'bad field' }] },
      'body.0: bad field',
    ],
    ['a page', '<html>bad field</html>', undefined],
    ['JSON of no known shape', { reason: 'bad field' }, undefined],
    ['an empty message', { error: { message: ' ' } }, undefined],
    ['a message that is no text', { error: { message: { a: 1 } } }, undefined],
    ['nothing', '', undefined],
  ])('%s', (_shape, body, reason) => {
    for (const status of [400, 422])
      expect(readMessage(status, body)).toBe(reason === undefined ? `${REJECTED}.` : `${REJECTED}: ${reason}`);
  });

  test.each([403, 404, 429, 500, 503])('the message of a %i stays here', (status) => {
    expect(readMessage(status, { error: { message: 'bad field' } })).not.toContain('bad field');
  });
});
