import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { catalogApply } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilOffered } from '#testing/tenant.js';
import { type CollectedSpan, TraceCollector, treeOf } from '#testing/trace-collector.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';

/** A collector sees one tree of each request over all services. */
const PROMPT_WORD = 'zebraprompt7f3a';
const REPLY_WORD = 'walrusreply91cd';
const UPSTREAM_KEY = 'otterkey55b0';
const MODELS = ['traced', 'untraced', 'failover', 'failing'];

let collector: TraceCollector;
let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;
let good: SimServer;
let bad: SimServer;

beforeAll(async () => {
  collector = await TraceCollector.start();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    TRACES_SLOW_MS: '60000',
    ROUTE_COOLDOWN_MS: '1',
    RETRY_AFTER_MAX_MS: '0',
  };
  const serviceEnv = { 'inference-proxy': { TRACED_UPSTREAMS: 'good, other', TRACE_TEST_KEY: UPSTREAM_KEY } };
  [stack, good, bad] = await Promise.all([
    startPrivateStack({ env, serviceEnv, services: ['gateway', 'inference-proxy', 'billing', 'catalog'] }),
    startSimServer({ host: '127.0.0.1', port: 0, record: true, apiKey: UPSTREAM_KEY }),
    startSimServer({ host: '127.0.0.1', port: 0, defaults: 'status=500' }),
  ]);
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator);
  await administrator.request(catalogApply, { yaml: catalog() });
  await untilOffered(stack.gatewayUrl, tenant.apiKey, MODELS);
});

afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
  await Promise.all([collector?.close(), good?.close(), bad?.close()]);
});

function catalog(): string {
  const upstream = (id: string, { url }: SimServer) => ({
    ...{ id, kind: 'openai-chat', baseUrl: `${url}/v1`, allowPrivateNetwork: true, apiKeyEnv: 'TRACE_TEST_KEY' },
  });
  const model = (id: string, ...upstreams: string[]) => ({
    id,
    ownedBy: 'tollgate',
    contextTokens: 100_000,
    maxOutputTokens: 10_000,
    price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '3' },
    routes: upstreams.map((one, priority) => ({ upstream: one, model: 'sim-fast', priority })),
  });
  return stringify({
    upstreams: [upstream('good', good), upstream('secretive', good), upstream('bad', bad)],
    models: [model('traced', 'good'), model('untraced', 'secretive'), model('failover', 'bad', 'good'), model('failing', 'bad')],
  });
}

interface Asked {
  format?: FormatName;
  model?: string;
  stream?: boolean;
  sampled?: boolean;
  directives?: string;
  outputTokensMax?: number;
  apiKey?: string;
  signal?: AbortSignal;
}

/** Sends a request of a client with a trace of its own. */
async function open(asked: Asked): Promise<{ traceId: string; response: Response }> {
  const { format = 'chat', model = 'traced', stream = false, sampled = true, directives = '', outputTokensMax = 50 } = asked;
  const { path, body } = CLIENT_FORMATS[format];
  const traceId = randomBytes(16).toString('hex');
  const text = `${PROMPT_WORD} ${traceId} [[sim say="${REPLY_WORD}" ${directives}]]`;
  const response = await fetch(stack.gatewayUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${asked.apiKey ?? tenant.apiKey}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-0${sampled ? 1 : 0}`,
      tracestate: 'vendor=1',
    },
    body: JSON.stringify(body({ model, text, stream, outputTokensMax, withTool: false })),
    signal: asked.signal,
  });
  return { traceId, response };
}

async function ask(asked: Asked): Promise<{ traceId: string; status: number; text: string }> {
  const { traceId, response } = await open(asked);
  return { traceId, status: response.status, text: await response.text() };
}

/** Returns the spans of a trace once there are as many. */
async function collected(traceId: string, count: number): Promise<CollectedSpan[]> {
  await collector.until(() => collector.of(traceId).length >= count);
  return collector.of(traceId);
}

/** Returns `traceparent` of each call that the good upstream got for a request. Its prompt has the trace id. */
async function received(traceId: string): Promise<unknown[]> {
  const response = await fetch(`${good.url}/sim/requests`);
  const requests = (await response.json()) as { headers: Record<string, string>; body: unknown }[];
  return requests.filter(({ body }) => JSON.stringify(body).includes(traceId)).map(({ headers }) => headers.traceparent);
}

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan | undefined => spans.find((span) => span.name === name);

const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];

function treeWith(path: string, attempts = ['tollgate-inference-proxy client chat sim-fast'], failed = ''): string[] {
  return [
    `tollgate-gateway server POST ${path}${failed}`,
    '  tollgate-gateway client reserve',
    '    tollgate-billing server apply reserve',
    `  tollgate-gateway client inference${failed}`,
    `    tollgate-inference-proxy server generate${failed}`,
    ...attempts.map((attempt) => `      ${attempt}`),
    '  tollgate-gateway client settle',
    '    tollgate-billing server apply settle',
  ];
}

test.each(FORMATS.flatMap((format) => [false, true].map((stream) => ({ format, stream }))))(
  '$format, streamed $stream: one tree from the client to the upstream, whose parent is our attempt',
  async ({ format, stream }) => {
    const { traceId, status, text } = await ask({ format, stream });
    expect([status, text.includes(REPLY_WORD)]).toEqual([200, true]);
    const spans = await collected(traceId, 8);
    expect(treeOf(spans)).toEqual(treeWith(CLIENT_FORMATS[format].path));
    const attempt = named(spans, 'chat sim-fast');
    expect(await received(traceId)).toEqual([`00-${traceId}-${attempt?.spanId}-01`]);
    expect(spans.map(({ traceState }) => traceState)).toEqual(spans.map(({ name }) => (name.startsWith('apply') ? '' : 'vendor=1')));
    expect(attempt?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'sim-fast',
      'gen_ai.request.stream': stream,
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(good.url).port),
      'tollgate.upstream': 'good',
      'tollgate.circuit': 'closed',
    });
    const firstChunk = attempt?.attributes['gen_ai.response.time_to_first_chunk'];
    expect(typeof firstChunk).toBe(stream ? 'number' : 'undefined');
    expect(spans[0] && named(spans, `POST ${CLIENT_FORMATS[format].path}`)?.attributes).toMatchObject({
      'http.response.status_code': 200,
      'http.route': CLIENT_FORMATS[format].path,
      'tollgate.key_id': tenant.keyId,
      'gen_ai.request.model': 'traced',
    });
  },
);

test('each reserve and settle links to its batch, a trace of its own that links back', async () => {
  const { traceId } = await ask({});
  const applied = (await collected(traceId, 8)).filter(({ name }) => name.startsWith('apply'));
  const batchIds = applied.flatMap(({ links }) => links.map(({ spanId }) => spanId));
  await collector.until((spans) => batchIds.every((id) => spans.some(({ spanId }) => spanId === id)));
  const batches = batchIds.map((id) => collector.spans.find(({ spanId }) => spanId === id));
  expect(batches.map((batch) => ({ name: batch?.name, parentId: batch?.parentId, isOther: batch?.traceId !== traceId }))).toEqual(
    applied.map(() => ({ name: 'database batch', parentId: '', isOther: true })),
  );
  expect(batches.map((batch, at) => batch?.links.some(({ spanId }) => spanId === applied[at]?.spanId))).toEqual([true, true]);
});

test('failover: each attempt is a span, and the retry an event', async () => {
  const { traceId, status } = await ask({ model: 'failover' });
  const spans = await collected(traceId, 9);
  const attempts = ['tollgate-inference-proxy client chat sim-fast FAILED', 'tollgate-inference-proxy client chat sim-fast'];
  expect({ status, tree: treeOf(spans) }).toEqual({ status: 200, tree: treeWith('/v1/chat/completions', attempts) });
  expect(named(spans, 'generate')?.events).toEqual([{ name: 'retry', attributes: { 'tollgate.attempt': 2, 'error.type': 'refused' } }]);
  expect(spans.find(({ hasFailed }) => hasFailed)).toMatchObject({
    attributes: { 'error.type': 'refused', 'http.response.status_code': 500, 'tollgate.upstream': 'bad', 'tollgate.circuit': 'closed' },
    events: [{ name: 'reply began', attributes: {} }],
  });
});

test('a refusal ends the tree at the reserve, and is no failure', async () => {
  const poor = await createTenant(administrator, { usd: '0.0001' });
  const { traceId, status } = await ask({ apiKey: poor.apiKey, outputTokensMax: 9_000 });
  const spans = await collected(traceId, 3);
  expect({ status, tree: treeOf(spans) }).toEqual({ status: 402, tree: treeWith('/v1/chat/completions').slice(0, 3) });
  expect(named(spans, 'apply reserve')?.attributes).toMatchObject({
    'tollgate.status': 'refused',
    'tollgate.code': 'insufficient_balance',
  });
  expect(named(spans, 'POST /v1/chat/completions')?.attributes['error.type']).toBe('insufficient_balance');
});

test('a client that disconnects leaves a whole tree with a cancelled attempt', async () => {
  const client = new AbortController();
  const { traceId, response } = await open({
    stream: true,
    directives: 'tokens=5000 rate=50',
    outputTokensMax: 9_000,
    signal: client.signal,
  });
  await response.body?.getReader().read();
  client.abort();
  const spans = await collected(traceId, 8);
  expect(treeOf(spans)).toEqual(treeWith('/v1/chat/completions'));
  expect(named(spans, 'chat sim-fast')?.attributes['tollgate.outcome']).toBe('cancelled');
});

test('an upstream that is not named gets no trace context', async () => {
  const { traceId } = await ask({ model: 'untraced' });
  expect(await received(traceId)).toEqual([undefined]);
});

test('of traces that the client did not sample, only the failed request is exported, by the services where it failed', async () => {
  const fine = await ask({ sampled: false });
  const failed = await ask({ model: 'failing', sampled: false });
  const spans = await collected(failed.traceId, 6);
  expect([fine.status, failed.status, collector.of(fine.traceId)]).toEqual([200, 502, []]);
  const attempt = ['tollgate-inference-proxy client chat sim-fast FAILED'];
  const tree = treeWith('/v1/chat/completions', attempt, ' FAILED').filter((line) => !line.includes('billing'));
  expect(treeOf(spans)).toEqual(tree);
  expect(await logLines(failed.traceId)).toEqual([
    expect.objectContaining({ service: 'gateway', msg: 'request', keyId: tenant.keyId, requestId: expect.any(String) }),
    expect.objectContaining({ service: 'inference-proxy', msg: 'upstream call failed', requestId: expect.any(String) }),
  ]);
});

test('the circuit of a route is an attribute of each attempt, and its change an event', async () => {
  const attempts: unknown[] = [];
  for (let count = 0; count < 6; count++) {
    const { traceId } = await ask({ model: 'failing' });
    const attempt = named(await collected(traceId, 8), 'chat sim-fast');
    attempts.push([attempt?.attributes['tollgate.circuit'], attempt?.events.at(-1)?.name]);
  }
  // The request before has failed too.
  const closed = ['closed', 'reply began'];
  expect(attempts).toEqual([
    closed,
    closed,
    closed,
    ['closed', 'circuit open'],
    ['half-open', 'circuit open'],
    ['half-open', 'circuit open'],
  ]);
});

test('no exported byte has words of prompts or replies, or a key', () => {
  const bytes = Buffer.concat(collector.bodies);
  const secrets = [PROMPT_WORD, REPLY_WORD, UPSTREAM_KEY, tenant.apiKey, ...Object.values(stack.natsPasswords)];
  // The search finds what is there.
  expect([bytes.includes(tenant.keyId), secrets.filter((word) => bytes.includes(word))]).toEqual([true, []]);
});

test('requests do not notice that the collector is gone', async () => {
  await collector.close();
  const { status, text } = await ask({ stream: true });
  expect([status, text.includes(REPLY_WORD)]).toEqual([200, true]);
});

/** Returns the log lines of a trace, by service, once both services have written theirs. */
async function logLines(traceId: string): Promise<Record<string, unknown>[]> {
  for (;;) {
    const lines = readdirSync(stack.logDir)
      .sort()
      .flatMap((file) => readFileSync(join(stack.logDir, file), 'utf8').split('\n'))
      .filter((line) => line.includes(`"traceId":"${traceId}"`));
    if (lines.length >= 2) return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    await delay(50);
  }
}
