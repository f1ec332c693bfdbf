import type { Upstream } from '#contracts/catalog.js';
import { createLogger, type Logger } from '#observability/logger.js';
import { FaultServer } from '#testing/fault-server.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { collect, reader, type Setting, startRequest } from '../../test/inference-fixture.js';
import { answering, type Behaviour, plainReply, streaming, TestUpstream } from '../../test/test-upstream.js';
import { streamInference } from '../calls/stream-inference.js';

let upstream: TestUpstream;
beforeEach(async () => {
  upstream = await TestUpstream.start();
});
afterEach(() => upstream.stop());

/** Returns the log lines of one request, each with its level. */
async function readLines(setting: Setting): Promise<object[]> {
  const { job, dependencies, table } = startRequest(setting);
  const lines: object[] = [];
  const level = (name: string) => (fields: object, message: string) => void lines.push({ level: name, ...fields, message });
  const logger: Logger = Object.assign(Object.create(createLogger('test', 'silent')), { warn: level('warn'), error: level('error') });
  await collect(streamInference(job, reader(), { ...dependencies, logger }));
  await table.close();
  return lines;
}

const CALL = {
  requestId: 'req_1',
  holdId: '01990000-0000-7000-8000-000000000001',
  upstream: 'test',
  model: 'our-model',
  upstreamModel: 'their-model',
};

test('output that an upstream counts beyond its cap is logged with the upstream, and not billed', async () => {
  upstream.behave(answering(200, { ...(plainReply('Hello') as object), usage: { prompt_tokens: 12, completion_tokens: 100_000 } }));
  expect(await readLines({ upstreams: [upstream.definition()], request: { stream: false }, outputTokensMax: 40 })).toEqual([
    {
      level: 'warn',
      ...CALL,
      outputTokensMax: 40,
      outputTokensOver: 99_960,
      message: 'upstream counted more output than its cap: the excess is not billed',
    },
  ]);
});

test('a failed call is logged with both names of the model', async () => {
  upstream.behave(answering(500, { message: 'boom' }));
  expect(await readLines({ upstreams: [upstream.definition()] })).toEqual([
    {
      level: 'warn',
      ...CALL,
      kind: 'refused',
      code: 'upstream_error',
      family: 'other',
      status: 500,
      upstreamCode: undefined,
      detail: 'other 500',
      message: 'upstream call failed',
    },
  ]);
});

test.each<[what: string, over: Partial<Upstream>, behaviour: Behaviour, message: string]>([
  ['a wrong key', {}, answering(401, ''), 'upstream denies access: check its key and quota'],
  ['no such model', {}, answering(404, ''), 'upstream refuses calls: check the model name there, and the permissions of the key'],
  [
    'a forbidden address',
    { allowPrivateNetwork: false },
    answering(200, ''),
    'cannot call upstream: check the address in its catalog entry',
  ],
])('a failure that the operator can fix is an error, and says what to check: %s', async (_what, over, behaviour, message) => {
  upstream.behave(behaviour);
  expect(await readLines({ upstreams: [{ ...upstream.definition(), ...over }] })).toMatchObject([{ level: 'error', message }]);
});

test('a certificate fault says to check the certificates', async () => {
  const server = await FaultServer.start(undefined, { tls: new TestAuthority().issue('upstream', { hosts: ['127.0.0.1'] }) });
  const host = `127.0.0.1:${server.port}`;
  const lines = await readLines({ upstreams: [{ ...upstream.definition(), baseUrl: `https://${host}/v1` }] });
  await server.stop();
  const words = 'certificate is signed by an unknown authority. Name the authority in tls.caFile, or let the upstream send its whole chain';
  expect(lines).toEqual([
    {
      level: 'error',
      ...CALL,
      kind: 'unreachable',
      code: 'model_unavailable',
      detail: `${host}: ${words} (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`,
      message: 'cannot connect to upstream: check baseUrl and tls of its catalog entry, and the certificates on both sides',
    },
  ]);
});

describe.each<[Upstream['kind'], event: (error: object) => string]>([
  ['openai-chat', (error) => `data: ${JSON.stringify({ error })}\n\n`],
  ['openai-responses', (error) => `data: ${JSON.stringify({ type: 'response.failed', response: { status: 'failed', error } })}\n\n`],
  ['anthropic-messages', (error) => `data: ${JSON.stringify({ type: 'error', error })}\n\n`],
])('%s', (kind, event) => {
  const prompt = 'My neighbour, Mrs Higgs, has dreadful debts.';
  const error = { type: 'server_error', message: `boom at ${prompt} and on` };

  test.each<[where: string, behaviour: Behaviour, detail: string]>([
    ['the text of a refusal', answering(500, { error }), 'other 500 server_error'],
    ['a bare message', answering(500, { message: error.message }), 'other 500'],
    ['a field that is no text', answering(500, { detail: [{ input: { content: prompt } }] }), 'other 500'],
    ['a refusal in no format', answering(500, `<p>${prompt}</p>`), 'other 500'],
    ['a refusal of this request', answering(400, { error }), 'bad-request 400 server_error'],
    ['a code', answering(400, { error: { code: prompt, message: '' } }), 'bad-request 400'],
    ['an error within a stream', streaming(event(error)), 'other 500 server_error'],
    ['an error in place of a reply', answering(200, { error }), 'other 500 server_error'],
  ])('a prompt that the upstream repeats in %s is not logged', async (_where, behaviour, detail) => {
    upstream.behave(behaviour);
    const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: prompt }] }];
    const lines = await readLines({ upstreams: [upstream.definition({ kind })], request: { turns } });
    expect(lines).toEqual([expect.objectContaining({ ...CALL, detail })]);
    expect(JSON.stringify(lines)).not.toMatch(/neighbour|Higgs|debts/);
  });
});
