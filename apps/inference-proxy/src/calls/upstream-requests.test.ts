import type { Upstream } from '#contracts/catalog.js';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { makeCall } from '../../test/conformance.js';
import { collect, failure, REPORTED, START, STOP, setUp, startUpstreamBeforeEach, text, upstream } from '../../test/inference-fixture.js';
import { answering, type Behaviour } from '../../test/test-upstream.js';
import { Prober } from '../probe/prober.js';
import { ADAPTERS } from '../upstreams/adapters.js';
import { streamInference } from './stream-inference.js';

/** Path, query and headers of the catalog in requests to an upstream, and capabilities of one of its models. */

startUpstreamBeforeEach();

const SECRET = 'apim-secret-1';
const before = { ...process.env };
beforeEach(() => {
  process.env.UPSTREAM_KEY_APIM = SECRET;
  process.env.UPSTREAM_KEY_APIM_HOSTS = `http://127.0.0.1:${upstream.port}`;
});
afterEach(() => {
  process.env = { ...before };
});

/** Answers well, and records method and path of each request. */
function answersTo(paths: (string | undefined)[], kind: Upstream['kind'] = 'openai-chat'): Behaviour {
  return (request, response) => {
    paths.push(request.url);
    return answering(200, DIALECT_STREAMS[kind].plain('Hello'))(request, response);
  };
}

const entry = (over: Partial<Upstream> = {}): Upstream => ({
  ...upstream.definition(),
  headers: { 'X-Route': 'a', 'ocp-apim-subscription-key': { env: 'UPSTREAM_KEY_APIM' }, 'user-agent': 'relay-client' },
  query: { 'api-version': '2024-10-21' },
  ...over,
});
const GOOD = [START, text('Hello'), REPORTED, STOP];
const PLAIN = { stream: false };

describe.each(UPSTREAM_KINDS)('%s', (kind) => {
  const { path, action = '' } = ADAPTERS[kind].renderRequest({ ...makeCall(false), model: 'their-model' }, undefined);

  test('gets headers and query beside those of the dialect', async () => {
    const paths: string[] = [];
    upstream.behave(answersTo(paths, kind));
    expect(await collect(setUp({ upstreams: [entry({ kind })], request: PLAIN }).stream)).toEqual(GOOD);
    expect(paths).toEqual([`/v1/${path}${action}?api-version=2024-10-21`]);
    expect(upstream.headers[0]).toMatchObject({
      'x-route': 'a',
      'ocp-apim-subscription-key': SECRET,
      'user-agent': 'relay-client',
      'content-type': 'application/json',
      ...(kind === 'anthropic-messages' && { 'anthropic-version': '2023-06-01' }),
    });
  });

  test('is called at the path of the catalog, with the escaped name of the model', async () => {
    const paths: string[] = [];
    upstream.behave(answersTo(paths, kind));
    const upstreams = [entry({ kind, path: 'deployments/{model}/run' })];
    const routes = [{ upstream: 'test', model: 'org/large 2?' }];
    expect(await collect(setUp({ upstreams, routes, request: PLAIN }).stream)).toEqual(GOOD);
    expect(paths).toEqual([`/v1/deployments/org%2Flarge%202%3F/run${action}?api-version=2024-10-21`]);
  });
});

test('nothing is added without them', async () => {
  const paths: string[] = [];
  upstream.behave(answersTo(paths));
  await collect(setUp({ request: PLAIN }).stream);
  expect(paths).toEqual(['/v1/chat/completions']);
  expect(Object.keys(upstream.headers[0] ?? {}).sort()).toEqual([
    ...['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'user-agent'],
  ]);
});

test('a secret for a header is sent to declared hosts alone, and no call is made without it [sec-upstream-secret]', async () => {
  process.env.UPSTREAM_KEY_APIM_HOSTS = 'api.example.com';
  expect(await collect(setUp({ upstreams: [entry()], request: PLAIN }).stream)).toEqual([START, failure('model_unavailable', 1)]);
  expect(upstream.calls).toBe(0);
});

test('a replaced secret is sent by the next call', async () => {
  upstream.behave(answersTo([]));
  const { stream, job, dependencies } = setUp({ upstreams: [entry()], request: PLAIN });
  await collect(stream);
  process.env.UPSTREAM_KEY_APIM = 'apim-secret-2';
  await collect(streamInference(job, { signal: new AbortController().signal, callerIsThere: async () => true }, dependencies));
  expect(upstream.headers.map((headers) => headers['ocp-apim-subscription-key'])).toEqual([SECRET, 'apim-secret-2']);
});

test('a rejection does not repeat the secret of a header', async () => {
  upstream.behave(answering(400, { error: { message: `no access for ${SECRET}`, type: 'invalid_request_error' } }));
  const events = await collect(setUp({ upstreams: [entry()], request: PLAIN }).stream);
  expect(events.at(-1)).toMatchObject({ code: 'invalid_request', message: "The model's server rejected this request: no access for …" });
});

test('a model whose name leads out of the path is not called', async () => {
  const routes = [{ upstream: 'test', model: '../admin' }];
  const upstreams = [entry({ path: 'deployments/{model}' })];
  expect((await collect(setUp({ upstreams, routes, request: PLAIN }).stream)).at(-1)).toMatchObject({ code: 'model_unavailable' });
  expect(upstream.calls).toBe(0);
});

test('the probe sends them too, and lists models with them', async () => {
  const paths: string[] = [];
  upstream.behave(answersTo(paths));
  const definition = entry({ path: 'deployments/{model}/chat' });
  const prober = new Prober(definition, 'gpt 4', new AbortController().signal, Date.now() + 60_000);
  try {
    expect((await prober.send({ turns: 'Hi' })).text).toBe('Hello');
    expect(await prober.headersFor('/v1/models')).toMatchObject({ 'x-route': 'a', 'ocp-apim-subscription-key': SECRET });
  } finally {
    await prober.close();
  }
  expect(paths).toEqual(['/v1/deployments/gpt%204/chat?api-version=2024-10-21']);
  expect(upstream.headers[0]).toMatchObject({ 'x-route': 'a', 'ocp-apim-subscription-key': SECRET });
});

test('the probe names a secret that is missing', async () => {
  delete process.env.UPSTREAM_KEY_APIM;
  const prober = new Prober(entry(), 'm', new AbortController().signal, Date.now() + 60_000);
  expect(prober.missingKey).toBe('no key in UPSTREAM_KEY_APIM');
  await prober.close();
});

test('capabilities of a route count before those of its upstream', async () => {
  upstream.behave(answersTo([]));
  const upstreams = [upstream.definition({ capabilities: { temperature: false } })];
  const request = { ...PLAIN, temperature: 0.5, topP: 0.5 };
  const bodies = async (capabilities: Partial<Upstream['capabilities']> | null) => {
    await collect(setUp({ upstreams, routes: [{ capabilities }], request }).stream);
    const { temperature, top_p } = upstream.bodies.at(-1) ?? {};
    return { temperature, top_p };
  };
  expect([await bodies(null), await bodies({ temperature: true, topP: false })]).toEqual([
    { temperature: undefined, top_p: 0.5 },
    { temperature: 0.5, top_p: undefined },
  ]);
});
