import { CAPABILITIES } from '../../../test/conformance.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { embeddings } from './embeddings.js';

const CALL: UpstreamCall = {
  request: {
    ...{ model: 'ours', turns: [], tools: [], output: { kind: 'text' }, stream: false, hints: {} },
    embedding: { inputs: ['a', [1, 2]], dimensions: 2 },
  },
  model: 'theirs',
  baseUrl: 'http://upstream/v1',
  outputTokensMax: 0,
  promptTokensEstimate: 3,
  accountId: 'a',
  stream: false,
  capabilities: CAPABILITIES,
};

const base64 = (...numbers: number[]): string => Buffer.from(new Float32Array(numbers).buffer).toString('base64');

test('the request asks for base64', () => {
  expect(embeddings.renderRequest(CALL, ['a', [1, 2]], 'key')).toEqual({
    path: 'embeddings',
    headers: { authorization: 'Bearer key' },
    body: { model: 'theirs', input: ['a', [1, 2]], encoding_format: 'base64', dimensions: 2 },
  });
});

function parse(reply: unknown, inputs = 2) {
  return embeddings.parseReply(typeof reply === 'string' ? reply : JSON.stringify(reply), CALL, { inputs, dimensions: 2 });
}

const DATA = [
  { index: 1, embedding: [1, 2] },
  { index: 0, embedding: base64(3, 4) },
];
const counted = (promptTokens: number, cachedTokens = 0) => expect.objectContaining({ promptTokens, cachedTokens });

test.each<[what: string, usage: unknown, expected: unknown]>([
  ['OpenAI', { prompt_tokens: 5, total_tokens: 5 }, counted(5)],
  ['a total alone', { total_tokens: 5 }, counted(5)],
  ['other names', { input_tokens: 5 }, counted(5)],
  ['cached tokens', { prompt_tokens: 5, total_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }, counted(5, 4)],
  ['a total that counts something else', { prompt_tokens: 5, total_tokens: 50 }, counted(5)],
  ['zero', { prompt_tokens: 0, total_tokens: 0 }, undefined],
  ['none', undefined, undefined],
])('vectors in the order of the inputs; usage: %s', (_what, usage, expected) => {
  expect(parse({ data: DATA, usage })).toEqual({ vectors: [base64(3, 4), [1, 2]], usage: expected });
});

test.each<[what: string, reply: unknown]>([
  ['not JSON', '<html>'],
  ['no list', { data: null }],
  ['too few', { data: DATA.slice(1) }],
  ['one index twice', { data: [DATA[0], DATA[0]] }],
  ['an index beyond the inputs', { data: [DATA[0], { ...DATA[1], index: 2 }] }],
  ['another length in numbers', { data: [DATA[0], { index: 0, embedding: [1] }] }],
  ['another length in base64', { data: [DATA[0], { index: 0, embedding: base64(1) }] }],
  ['no base64', { data: [DATA[0], { index: 0, embedding: 'AAAAAAAAAA=!' }] }],
  ['no finite number in base64', { data: [DATA[0], { index: 0, embedding: base64(Number.NaN, 1) }] }],
  ['no number', { data: [DATA[0], { index: 0, embedding: [null, 1] }] }],
  ['more values than vectors have', { data: Array(1_000).fill(DATA[0]), usage: Array(1_000).fill(0) }],
  ['an error', { error: { message: 'Overloaded', type: 'server_error' } }],
])('a reply that breaks the dialect fails: %s', (_what, reply) => {
  expect(() => parse(reply)).toThrow(UpstreamFailure);
});
