import { randomBytes } from 'node:crypto';
import { requestShow } from '#contracts/billing/requests.js';
import { createTenant, type Tenant } from '#testing/tenant.js';
import { type CollectedSpan, renderTree } from '#testing/trace-collector.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import { named, REPLY_WORD, TracedStack, treeWith } from './traced-stack.js';

/** A collector sees one tree of each request over all services. */
let traced: TracedStack;
let poor: Tenant;
beforeAll(async () => {
  traced = await TracedStack.start();
  poor = await createTenant(traced.administrator, { usd: '0.0001' });
});
afterAll(() => traced?.stop());

/** A request of each format, plain and streamed. */
const REQUESTS = (Object.keys(CLIENT_FORMATS) as FormatName[]).flatMap((format) => [false, true].map((stream) => ({ format, stream })));

describe.each(REQUESTS)(
  '$format, streamed $stream: exactly one tree, and the parent of each upstream is our attempt',
  ({ format, stream }) => {
    const { path } = CLIENT_FORMATS[format];

    test('of a request that succeeds', async () => {
      const { traceId, status, text } = await traced.ask({ format, stream });
      expect([status, text.includes(REPLY_WORD)]).toEqual([200, true]);
      const spans = await wholeTrace(traceId, 8);
      expect(renderTree(spans)).toEqual(treeWith(path));
      expect(await traced.received(traceId)).toEqual(attemptContexts(spans));
      expect(spans.map(({ traceState }) => traceState)).toEqual(spans.map(({ name }) => (name.startsWith('apply') ? '' : 'vendor=1')));
      const attempt = named(spans, 'chat sim-fast');
      expect(attempt?.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'sim-fast',
        'gen_ai.request.stream': stream,
        'gen_ai.response.id': expect.stringMatching(/^chatcmpl-sim-/),
        'gen_ai.response.model': 'sim-fast',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(traced.good.url).port),
        'tollgate.upstream': 'good',
        'tollgate.circuit': 'closed',
      });
      const firstChunk = attempt?.attributes['gen_ai.response.time_to_first_chunk'];
      expect(typeof firstChunk).toBe(stream ? 'number' : 'undefined');
      expect(named(spans, `POST ${path}`)?.attributes).toMatchObject({
        'http.response.status_code': 200,
        'http.route': path,
        'tollgate.key_id': traced.tenant.keyId,
        'gen_ai.request.model': 'traced',
      });
    });

    test('of a failover: each attempt is a span, and the retry an event', async () => {
      const { traceId, status, text } = await traced.ask({ format, stream, model: 'failover' });
      const spans = await wholeTrace(traceId, 9);
      const attempts = ['tollgate-inference-proxy client chat sim-fast FAILED', 'tollgate-inference-proxy client chat sim-fast'];
      expect({ status, isWhole: text.includes(REPLY_WORD), tree: renderTree(spans) }).toEqual({
        status: 200,
        isWhole: true,
        tree: treeWith(path, attempts),
      });
      expect(await traced.received(traceId)).toEqual(attemptContexts(spans));
      expect(named(spans, 'generate')?.events).toEqual([{ name: 'retry', attributes: { 'tollgate.attempt': 2, 'error.type': 'refused' } }]);
      expect(spans.find(({ hasFailed }) => hasFailed)).toMatchObject({
        attributes: { 'error.type': 'refused', 'http.response.status_code': 500, 'tollgate.upstream': 'bad' },
      });
    });

    test('of a client that disconnects, with a cancelled attempt', async () => {
      const client = new AbortController();
      const traceId = randomBytes(16).toString('hex');
      const opened = traced.open({ traceId, format, stream, directives: 'hang=2', signal: client.signal }).catch(() => undefined);
      await traced.untilReceived(traceId);
      client.abort();
      await opened;
      const spans = await wholeTrace(traceId, 8);
      expect(renderTree(spans)).toEqual(treeWith(path));
      expect(await traced.received(traceId)).toEqual(attemptContexts(spans));
      expect(named(spans, 'chat sim-fast')?.attributes['tollgate.outcome']).toBe('cancelled');
    });

    test('of a refusal: it ends at the reserve, and is no failure', async () => {
      const { traceId, status } = await traced.ask({ format, stream, apiKey: poor.apiKey, outputTokensMax: 9_000 });
      const spans = await wholeTrace(traceId, 3);
      expect({ status, tree: renderTree(spans) }).toEqual({ status: 402, tree: treeWith(path).slice(0, 3) });
      expect(named(spans, 'apply reserve')?.attributes).toMatchObject({
        'tollgate.status': 'refused',
        'tollgate.code': 'insufficient_balance',
      });
      expect(named(spans, `POST ${path}`)?.attributes['error.type']).toBe('insufficient_balance');
    });
  },
);

/** Returns the spans of a trace when no further one can come. */
async function wholeTrace(traceId: string, count: number): Promise<CollectedSpan[]> {
  await traced.collected(traceId, count);
  await traced.allCollected();
  return traced.collector.of(traceId);
}

/** Returns the contexts of the attempts in their order. */
function attemptContexts(spans: readonly CollectedSpan[]): string[] {
  const attempts = spans.filter(({ name }) => name === 'chat sim-fast').sort((one, other) => Number(one.startNs - other.startNs));
  return attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
}

test.each([true, false])(
  'from a request id to its trace: the settlement keeps the trace id (begun by the client: %s)',
  async (withTrace) => {
    const { traceId, requestId } = await traced.ask({ withTrace });
    const spans = await traced.collected(traceId, 8);
    expect(renderTree(spans)).toEqual(treeWith('/v1/chat/completions'));
    expect(await traced.administrator.request(requestShow, { requestId })).toMatchObject({ requestId, traceId });
  },
);

test('each reserve and settle links to its batch, a trace of its own that links back', async () => {
  const { traceId } = await traced.ask();
  const applied = (await traced.collected(traceId, 8)).filter(({ name }) => name.startsWith('apply'));
  const batchIds = applied.flatMap(({ links }) => links.map(({ spanId }) => spanId));
  await traced.collector.until((spans) => batchIds.every((id) => spans.some(({ spanId }) => spanId === id)));
  const batches = batchIds.map((id) => traced.collector.spans.find(({ spanId }) => spanId === id));
  expect(batches.map((batch) => ({ name: batch?.name, parentId: batch?.parentId, isOther: batch?.traceId !== traceId }))).toEqual(
    applied.map(() => ({ name: 'database batch', parentId: '', isOther: true })),
  );
  expect(batches.map((batch, at) => batch?.links.some(({ spanId }) => spanId === applied[at]?.spanId))).toEqual([true, true]);
});

test('an upstream that is not named gets no trace context', async () => {
  const { traceId } = await traced.ask({ model: 'untraced' });
  expect(await traced.received(traceId)).toEqual([undefined]);
});

test('of traces that the client did not sample, only the failed request is exported, without its reserve in billing', async () => {
  const fine = await traced.ask({ sampled: false });
  const failed = await traced.ask({ model: 'failing', sampled: false });
  const spans = await traced.collected(failed.traceId, 7);
  expect([fine.status, failed.status, traced.collector.of(fine.traceId)]).toEqual([200, 502, []]);
  const attempt = ['tollgate-inference-proxy client chat sim-fast FAILED'];
  const tree = treeWith('/v1/chat/completions', attempt, ' FAILED').filter((line) => !line.includes('apply reserve'));
  expect(renderTree(spans)).toEqual(tree);
  expect(await traced.untilLogged(2, (line) => line.traceId === failed.traceId)).toEqual([
    expect.objectContaining({ service: 'gateway', msg: 'request', keyId: traced.tenant.keyId, requestId: expect.any(String) }),
    expect.objectContaining({ service: 'inference-proxy', msg: 'upstream call failed', requestId: expect.any(String) }),
  ]);
});

test('the circuit of a route is an attribute of each attempt, and its change an event', async () => {
  const attempts: unknown[] = [];
  for (let count = 0; count < 6; count++) {
    const { traceId } = await traced.ask({ model: 'failing' });
    const attempt = named(await traced.collected(traceId, 8), 'chat sim-fast');
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

test('histograms of durations lead to the trace of a request that is exported', async () => {
  const sampled = await traced.ask();
  await traced.collected(sampled.traceId, 8);
  const fine = await traced.ask({ sampled: false });
  const failed = await traced.ask({ model: 'failing', sampled: false });
  await traced.collected(failed.traceId, 7); // its part of the gateway comes after its line in the access log
  const scrape = async (accept: string): Promise<string> => {
    const { gateway, 'inference-proxy': proxy } = traced.facts.opsUrls;
    const texts = [gateway, proxy].map(async (url) => (await fetch(`${url}/metrics`, { headers: { accept } })).text());
    return (await Promise.all(texts)).join('');
  };
  const open = await scrape('application/openmetrics-text;version=1.0.0');
  const exemplars = open.split('\n').filter((line) => line.includes(' # {trace_id='));
  const findHistograms = ({ traceId }: { traceId: string }): string[] =>
    exemplars.filter((line) => line.includes(traceId)).map((line) => line.split('_bucket{', 1)[0] ?? '');
  // Exemplars of one bucket replace each other.
  expect([...new Set([...findHistograms(sampled), ...findHistograms(failed)])].sort()).toEqual([
    'gen_ai_client_operation_duration_seconds',
    'tollgate_gateway_first_content_seconds',
    'tollgate_gateway_request_seconds',
    'tollgate_gateway_reserve_seconds',
  ]);
  expect(findHistograms(failed)).toContain('tollgate_gateway_request_seconds');
  expect(findHistograms(fine)).toEqual([]);
  expect((await scrape('*/*')).includes('trace_id')).toBe(false);
});
