import { type Route, routeList, type Upstream } from '#contracts/catalog.js';
import type { CandidateTls, UpstreamProbeEvent, UpstreamProbeRequest } from '#contracts/probe.js';
import { ServiceError } from '#contracts/service-error.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { ProbeRunner } from './probe-runner.js';

/** Address without a listener, so that a probe ends soon. Its first event has what it would send. */
const upstream: Upstream = {
  id: 'dead',
  kind: 'openai-chat',
  baseUrl: 'http://127.0.0.1:1/v1',
  apiKeyEnv: null,
  allowPrivateNetwork: true,
  capabilities: { ...CAPABILITY_DEFAULTS, seed: false },
  timeouts: { ...TIMEOUT_DEFAULTS },
  connectionsMax: 8,
};
const route = (to: string, model: string): Route => ({ upstream: to, model, weight: 1, priority: 0 });

let messaging: FakeMessaging;
let tests: ProbeRunner;

beforeEach(() => {
  messaging = new FakeMessaging();
  messaging.answer(routeList, () => ({
    revision: 1,
    upstreams: [upstream, { ...upstream, id: 'idle' }],
    models: [
      { id: 'ours-1', routes: [route('elsewhere', 'x'), route('dead', 'theirs-1')] },
      { id: 'ours-2', routes: [route('dead', 'theirs-1'), route('dead', 'theirs-2')] },
    ],
  }));
  tests = new ProbeRunner(messaging, createLogger('test', 'silent'));
});

async function run(request: UpstreamProbeRequest): Promise<UpstreamProbeEvent[]> {
  const events: UpstreamProbeEvent[] = [];
  for await (const batch of tests.run(request, new AbortController().signal)) events.push(...batch);
  return events;
}

test('an upstream of the catalog, with its first routed model and its catalog entry', async () => {
  const events = await run({ upstreamId: 'dead' });
  expect(events[0]).toEqual({ type: 'test-start', upstreamId: 'dead', kind: 'openai-chat', model: 'theirs-1', isInCatalog: true });
  expect(events.at(-1)).toMatchObject({ type: 'test-end', servesText: false, capabilities: { seed: false }, changes: [] });
});

test('a given model', async () => {
  expect((await run({ upstreamId: 'dead', model: 'theirs-9' }))[0]).toMatchObject({ model: 'theirs-9' });
});

test('an upstream that is not in the catalog, with the defaults of an entry', async () => {
  const candidate = { kind: 'anthropic-messages' as const, baseUrl: 'http://127.0.0.1:1/v1' };
  const events = await run({ upstreamId: 'new', model: 'm', candidate });
  expect(events[0]).toEqual({ type: 'test-start', upstreamId: 'new', kind: 'anthropic-messages', model: 'm', isInCatalog: false });
  expect(events[1]).toMatchObject({
    check: { id: 'reachable', evidence: '127.0.0.1 is not a public address: if it is yours, say allowPrivateNetwork: true' },
  });
  expect(events.at(-1)).toMatchObject({ capabilities: CAPABILITY_DEFAULTS });
});

function withTls(tls: CandidateTls, baseUrl = 'https://127.0.0.1:1/v1'): UpstreamProbeRequest {
  return { upstreamId: 'new', model: 'm', candidate: { kind: 'openai-chat', baseUrl, allowPrivateNetwork: true, tls } };
}

test('one with certificates in a missing file', async () => {
  expect((await run(withTls({ caFile: 'ca-to-come.pem' })))[1]).toMatchObject({
    check: { id: 'reachable', verdict: 'no', evidence: 'no certificate or key in the file ca-to-come.pem (ERR_TLS_CERT_FILE)' },
  });
});

test('one whose key is in a missing file', async () => {
  const candidate = { kind: 'openai-chat' as const, baseUrl: 'http://127.0.0.1:1/v1', apiKeyFile: 'keys/new' };
  expect((await run({ upstreamId: 'new', model: 'm', candidate }))[2]).toMatchObject({
    check: { id: 'key', verdict: 'no', evidence: 'no key in the file keys/new, as the inference-proxy sees it' },
  });
});

test('a setting of the proxy itself is never used as an upstream key', async () => {
  process.env.NATS_PASSWORD = 'ours';
  const candidate = { kind: 'openai-chat' as const, baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: 'NATS_PASSWORD' };
  const events = await run({ upstreamId: 'new', model: 'm', candidate });
  delete process.env.NATS_PASSWORD;
  expect(events[2]).toMatchObject({
    check: { id: 'key', verdict: 'no', evidence: 'no key in NATS_PASSWORD, as the inference-proxy sees it' },
  });
});

test.each<[UpstreamProbeRequest, ServiceError]>([
  [{ upstreamId: 'gone' }, new ServiceError('not_found', 'The catalog has no upstream gone, or it is disabled.', 'upstreamId')],
  [
    { upstreamId: 'idle' },
    new ServiceError('invalid_request', 'model is missing: no model of the catalog is routed to this upstream', 'model'),
  ],
  [
    { upstreamId: 'new', candidate: { kind: 'openai-chat', baseUrl: 'http://127.0.0.1:1/v1' } },
    new ServiceError('invalid_request', 'model is missing: an upstream that is not in the catalog has no routes', 'model'),
  ],
  [
    {
      upstreamId: 'new',
      model: 'm',
      candidate: { kind: 'openai-chat', baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: 'KEY', apiKeyFile: 'key' },
    },
    new ServiceError(
      'invalid_request',
      'candidate.apiKeyFile cannot stand beside apiKeyEnv; an upstream has one key',
      'candidate.apiKeyFile',
    ),
  ],
  [
    withTls({ certFile: 'client.pem' }),
    new ServiceError('invalid_request', 'candidate.tls.keyFile is missing: a certificate goes with its key', 'candidate.tls.keyFile'),
  ],
  [
    withTls({ keyFile: 'client.key' }),
    new ServiceError('invalid_request', 'candidate.tls.certFile is missing: a key goes with its certificate', 'candidate.tls.certFile'),
  ],
  [
    withTls({ caFile: 'ca.pem' }, 'http://127.0.0.1:1/v1'),
    new ServiceError('invalid_request', 'candidate.baseUrl must begin with https:// where there are certificates', 'candidate.baseUrl'),
  ],
])('%j is refused', async (request, refusal) => {
  await expect(run(request)).rejects.toEqual(refusal);
});

test('at most four probes run at once', async () => {
  const signal = new AbortController().signal;
  const running = Array.from({ length: 4 }, () => tests.run({ upstreamId: 'dead' }, signal));
  await Promise.all(running.map((events) => events.next()));
  const refusal = new ServiceError('unavailable', 'Too many upstream tests are under way; try again when one has ended.');
  await expect(run({ upstreamId: 'dead' })).rejects.toEqual(refusal);
  await running[0]?.return(undefined);
  expect((await run({ upstreamId: 'dead' })).at(-1)).toMatchObject({ type: 'test-end' });
  await Promise.all(running.map((events) => events.return(undefined)));
});
