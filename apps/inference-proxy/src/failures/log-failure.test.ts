import type { Upstream } from '#contracts/catalog.js';
import { createLogger, type Logger } from '#observability/logger.js';
import { FaultServer } from '#testing/fault-server.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { streamInference } from '../calls/stream-inference.js';
import { collect, reader, type Setting, startRequest } from '../../test/inference-fixture.js';
import { answering, type Behaviour, streaming, TestUpstream } from '../../test/test-upstream.js';

let upstream: TestUpstream;
beforeEach(async () => {
  upstream = await TestUpstream.start();
});
afterEach(() => upstream.stop());

/** The lines that one request writes, each with its level. */
async function linesOf(setting: Setting): Promise<object[]> {
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

test('a failed call is told with the model as clients call it, and as the upstream does', async () => {
  upstream.behave(answering(500, { message: 'boom' }));
  expect(await linesOf({ upstreams: [upstream.definition()] })).toEqual([
    { level: 'warn', ...CALL, kind: 'refused', code: 'upstream_error', detail: '500 boom', message: 'upstream call failed' },
  ]);
});

test.each<[what: string, over: Partial<Upstream>, behaviour: Behaviour, message: string]>([
  ['a wrong key', {}, answering(401, ''), 'upstream refuses us: check its key and quota'],
  ['no such model', {}, answering(404, ''), 'upstream refuses us: check the name of the model there, and what its key may do'],
  [
    'a forbidden address',
    { allowPrivateNetwork: false },
    answering(200, ''),
    'upstream cannot be called: check its address, as its entry in the catalog has it',
  ],
])('what an operator can mend is an error, and says where to look: %s', async (_what, over, behaviour, message) => {
  upstream.behave(behaviour);
  expect(await linesOf({ upstreams: [{ ...upstream.definition(), ...over }] })).toMatchObject([{ level: 'error', message }]);
});

test('where it is the certificates, they are what to look at', async () => {
  const server = await FaultServer.start(undefined, { tls: new TestAuthority().issue('upstream', { hosts: ['127.0.0.1'] }) });
  const host = `127.0.0.1:${server.port}`;
  const lines = await linesOf({ upstreams: [{ ...upstream.definition(), baseUrl: `https://${host}/v1` }] });
  await server.stop();
  const words = 'has a certificate of an authority that is not known here: name that in tls.caFile, or have it send its whole chain';
  expect(lines).toEqual([
    {
      level: 'error',
      ...CALL,
      kind: 'unreachable',
      code: 'model_unavailable',
      detail: `${host} ${words} (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`,
      message: 'upstream cannot be called: check baseUrl and tls of its entry in the catalog, and certificates on both sides',
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
    ['the text of a refusal', answering(500, { error }), '500 server_error boom at …. and on'],
    ['a bare message', answering(500, { message: error.message }), '500 boom at …. and on'],
    ['a field that is no text', answering(500, { detail: [{ input: { content: prompt } }] }), '500 [{"input":{"content":"….'],
    ['a refusal in no format', answering(500, `<p>${prompt}</p>`), '500 <p>….</p>'],
    ['a refusal of this request', answering(400, { error }), '400 server_error boom at …. and on'],
    ['a code', answering(400, { error: { code: prompt, message: '' } }), '400 ….'],
    ['an error within a stream', streaming(event(error)), 'server_error boom at …. and on'],
    ['an error in place of a reply', answering(200, { error }), 'server_error boom at …. and on'],
  ])('no prompt is in a log that an upstream repeats in %s', async (_where, behaviour, detail) => {
    upstream.behave(behaviour);
    const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: prompt }] }];
    const lines = await linesOf({ upstreams: [upstream.definition({ kind })], request: { turns } });
    expect(lines).toEqual([expect.objectContaining({ ...CALL, detail: expect.stringContaining(detail) })]);
    expect(JSON.stringify(lines)).not.toMatch(/neighbour|Higgs|debts/);
  });
});
