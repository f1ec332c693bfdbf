import { type Route, routeList, type Upstream } from '#contracts/catalog.js';
import {
  type CandidateProbeRequest,
  type CandidateTls,
  type UpstreamProbeEvent,
  type UpstreamProbeRequest,
  type UpstreamTestRecordRequest,
  upstreamTestRecord,
} from '#contracts/probe.js';
import { ServiceError } from '#contracts/service-error.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { type CallOptions, MessagingError } from '#messaging/messaging.js';
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
/** Rows that the catalog got, with their authors. */
let recorded: { row: UpstreamTestRecordRequest; author: CallOptions['actor'] }[];

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
  recorded = [];
  messaging.answer(upstreamTestRecord, (row) => ({ target: `upstream/${row.upstreamId}` }));
  tests = new ProbeRunner(
    {
      request: (endpoint, payload, options) => {
        if (endpoint.subject === upstreamTestRecord.subject)
          recorded.push({ row: payload as unknown as UpstreamTestRecordRequest, author: options?.actor });
        return messaging.request(endpoint, payload);
      },
    },
    createLogger('test', 'silent'),
  );
});

const caller = { actor: 'cli/ann@host', actorName: null, via: 'cli', ip: null, requestId: 'r1' };

async function run(request: UpstreamProbeRequest | CandidateProbeRequest): Promise<UpstreamProbeEvent[]> {
  const events: UpstreamProbeEvent[] = [];
  const context = { caller, signal: new AbortController().signal };
  for await (const batch of 'candidate' in request ? tests.runCandidate(request, context) : tests.run(request, context))
    events.push(...batch);
  return events;
}

test('an upstream of the catalog, with its first routed model and its catalog entry', async () => {
  const events = await run({ upstreamId: 'dead' });
  expect(events[0]).toEqual({ type: 'test-start', upstreamId: 'dead', kind: 'openai-chat', model: 'theirs-1', isInCatalog: true });
  expect(events.at(-1)).toMatchObject({ type: 'test-end', servesText: false, capabilities: { seed: false }, changes: [] });
});

test('an upstream with models for embeddings alone is tested with the first of them', async () => {
  messaging.answer(routeList, () => ({
    revision: 1,
    upstreams: [upstream],
    models: [{ id: 'e', embeds: true as const, routes: [route('dead', 'embed-1')] }],
  }));
  expect((await run({ upstreamId: 'dead' }))[0]).toMatchObject({ model: 'embed-1' });
  expect(recorded.map(({ row }) => row.models)).toEqual([['embed-1']]);
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

function withTls(tls: CandidateTls, baseUrl = 'https://127.0.0.1:1/v1'): CandidateProbeRequest {
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
  process.env.NATS_PASSWORD_HOSTS = 'http://127.0.0.1:1';
  const candidate = { kind: 'openai-chat' as const, baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: 'NATS_PASSWORD' };
  const events = await run({ upstreamId: 'new', model: 'm', candidate });
  delete process.env.NATS_PASSWORD;
  delete process.env.NATS_PASSWORD_HOSTS;
  const evidence = 'NATS_PASSWORD is never read: rename it to UPSTREAM_KEY_…, for the inference-proxy and in the catalog';
  expect(events[2]).toMatchObject({ check: { id: 'key', verdict: 'no', evidence: `${evidence}, as the inference-proxy sees it` } });
});

test.each<[UpstreamProbeRequest | CandidateProbeRequest, ServiceError]>([
  [{ upstreamId: 'gone' }, new ServiceError('not_found', 'The catalog has no upstream gone, or it is disabled.', 'upstreamId')],
  [
    { upstreamId: 'idle' },
    new ServiceError('invalid_request', 'model is missing: no model of the catalog is routed to this upstream', 'model'),
  ],
  [
    {
      upstreamId: 'new',
      model: 'm',
      candidate: { kind: 'openai-chat', baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: 'UPSTREAM_KEY_A', apiKeyFile: 'key' },
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
])('%j is refused, and is no row', async (request, refusal) => {
  await expect(run(request)).rejects.toEqual(refusal);
  expect(recorded).toEqual([]);
});

test('each test is a row with its author before anything is sent [sec-audit-row]', async () => {
  const author = { actor: 'cli/ann@host', actorName: null, ip: null, requestId: 'r1' };
  const models = ['theirs-1', 'theirs-2'];
  const context = { caller, signal: new AbortController().signal };
  const first = tests.run({ upstreamId: 'dead' }, context);
  await first.next();
  expect(recorded).toEqual([{ row: { upstreamId: 'dead', models, via: 'cli' }, author }]);
  await first.return(undefined);
  await run({ upstreamId: 'new', model: 'm', candidate: { kind: 'openai-chat', baseUrl: 'http://127.0.0.1:1/v1' } });
  expect(recorded[1]).toEqual({ row: { upstreamId: 'new', models: ['m'], host: '127.0.0.1:1', via: 'cli' }, author });
});

test('a test whose row cannot be written is refused, and nothing is sent', async () => {
  messaging.answer(upstreamTestRecord, () => {
    throw new MessagingError('unavailable', 'no catalog');
  });
  const words = 'The test cannot be recorded: the catalog service does not take its audit row. Nothing was sent.';
  await expect(run({ upstreamId: 'dead' })).rejects.toEqual(new ServiceError('unavailable', words));
});

test('at most four probes run at once', async () => {
  const context = { caller, signal: new AbortController().signal };
  const running = Array.from({ length: 4 }, () => tests.run({ upstreamId: 'dead' }, context));
  await Promise.all(running.map((events) => events.next()));
  const refusal = new ServiceError('unavailable', 'Too many upstream tests are under way; try again when one has ended.');
  await expect(run({ upstreamId: 'dead' })).rejects.toEqual(refusal);
  await running[0]?.return(undefined);
  expect((await run({ upstreamId: 'dead' })).at(-1)).toMatchObject({ type: 'test-end' });
  await Promise.all(running.map((events) => events.return(undefined)));
});
