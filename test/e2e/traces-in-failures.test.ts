import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { treeOf } from '#testing/trace-collector.js';
import { COLLECTOR_KEY, filesBelow, named, PROMPT_WORD, REPLY_WORD, TracedStack, treeWith, UPSTREAM_KEY } from './traced-stack.js';

/** Traces of requests during which a service dies, a search of everything that is exported, and the loss of the collector. */

/** In places that are the client's own and neither prompt nor key: path, query, model, field. */
const STRAY_WORD = 'lynxstray2e4c';

let traced: TracedStack;
beforeAll(async () => {
  traced = await TracedStack.start();
});
afterAll(() => traced?.stop());

test.each(['traced', 'failover'] as const)(
  'the inference-proxy dies in mid-stream of %s: one tree, without the spans that died with it',
  async (model) => {
    const { traceId, response } = await traced.open({ model, stream: true, directives: 'hang=2' });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    // Spans are exported in the order of their ends: one of this request would be there before these.
    await traced.collected((await traced.ask()).traceId, 8);
    await traced.facts.kill('inference-proxy');
    while (!(await reader.read()).done);
    await traced.facts.ready('inference-proxy');
    const tree = treeWith('/v1/chat/completions', [], ' FAILED').filter((line) => !line.includes('inference-proxy'));
    expect(treeOf(await traced.collected(traceId, tree.length))).toEqual(tree);
  },
);

test('billing dies while it settles: one tree, with the retry as an event', async () => {
  const { traceId, response } = await traced.open({ stream: true, directives: 'rate=4 tokens=24' });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  // As above: the spans of the reserve have left billing when later ones have.
  await traced.collected((await traced.ask()).traceId, 8);
  process.kill(traced.facts.pid('billing') as number, 'SIGSTOP');
  // The reply ends without an answer of billing, so the settlement is under way.
  while (!(await reader.read()).done);
  await traced.facts.kill('billing');
  const spans = await traced.collected(traceId, 8);
  expect(treeOf(spans)).toEqual(treeWith('/v1/chat/completions'));
  const settle = named(spans, 'settle');
  expect(settle?.events[0]).toMatchObject({ name: 'retry', attributes: { 'error.type': expect.any(String) } });
  expect(settle?.attributes['tollgate.status']).toBe('settled');
  await traced.facts.ready('billing');
});

test('no span, metric, log or dashboard has words of prompts or replies, stray texts of a client, or a key', async () => {
  await sendStrayWords();
  const { traceId } = await traced.ask();
  await traced.collected(traceId, 8);
  const { requestId } = await traced.ask({ model: 'failing' });
  await untilLogged(requestId);
  const exports = {
    spans: Buffer.concat(traced.collector.bodies),
    metrics: await everyMetric(),
    logs: Buffer.concat(traced.logFiles().map((file) => readFileSync(file))),
    dashboards: Buffer.concat(filesBelow('deploy/observability').map((file) => readFileSync(file))),
  };
  const keys = [UPSTREAM_KEY, COLLECTOR_KEY, traced.tenant.apiKey, ...Object.values(traced.facts.natsPasswords)];
  const words = [PROMPT_WORD, REPLY_WORD, STRAY_WORD, ...keys];
  const foundIn = (bytes: Buffer): string[] => words.filter((word) => bytes.includes(word));
  expect(mapValues(exports, foundIn)).toEqual({ spans: [], metrics: [], logs: [], dashboards: [] });
  // The search finds what is there.
  expect(mapValues(exports, (bytes) => ['gateway', traced.tenant.keyId].filter((word) => bytes.includes(word)))).toEqual({
    spans: ['gateway', traced.tenant.keyId],
    metrics: ['gateway'],
    logs: ['gateway', traced.tenant.keyId],
    dashboards: ['gateway'],
  });
});

test('a collector that never answers: requests are answered, what does not fit is counted, and the next trace arrives when it is back', async () => {
  const { collector } = traced;
  const { answer } = collector;
  const stuck: (() => void)[] = [];
  collector.answer = (request, response) => void stuck.push(() => answer(request, response));
  const statuses: number[] = [];
  for (let count = 0; count < 40; count++) statuses.push((await traced.ask()).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(await spansOf('dropped')).toBeGreaterThan(0);
  collector.answer = answer;
  for (const release of stuck) release();
  const { traceId } = await traced.ask();
  expect(treeOf(await traced.collected(traceId, 8))).toEqual(treeWith('/v1/chat/completions'));
});

test('requests do not notice that the collector is gone', async () => {
  await traced.collector.close();
  const { status, text } = await traced.ask({ stream: true });
  expect([status, text.includes(REPLY_WORD)]).toEqual([200, true]);
});

/** Sends a word in places where a client may put anything by mistake. */
async function sendStrayWords(): Promise<void> {
  const headers = { authorization: `Bearer ${traced.tenant.apiKey}`, 'content-type': 'application/json' };
  const post = (path: string, body: string) => fetch(traced.facts.gatewayUrl + path, { method: 'POST', headers, body });
  const chat = { model: 'traced', messages: [{ role: 'user', content: 'Hello' }] };
  const statuses = [
    post(`/v1/${STRAY_WORD}`, '{}'),
    post(`/v1/chat/completions?key=${STRAY_WORD}`, JSON.stringify({ ...chat, user: STRAY_WORD, [STRAY_WORD]: STRAY_WORD })),
    post('/v1/chat/completions', JSON.stringify({ ...chat, model: STRAY_WORD })),
    post('/v1/chat/completions', `{"model":"${STRAY_WORD}`),
    fetch(`${traced.facts.gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${STRAY_WORD}` } }),
  ].map(async (reply) => (await reply).status);
  expect(await Promise.all(statuses)).toEqual([404, 200, 404, 400, 401]);
}

/** Returns how many spans of the gateway have come to this end. */
async function spansOf(outcome: string): Promise<number> {
  const metrics = await (await fetch(`${traced.facts.opsUrls.gateway}/metrics`)).text();
  return Number(new RegExp(`^tollgate_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
}

/** Returns the metrics of all services in both formats. */
async function everyMetric(): Promise<Buffer> {
  const texts = (['gateway', 'inference-proxy', 'billing', 'catalog'] as const).flatMap((service) =>
    ['*/*', 'application/openmetrics-text'].map(async (accept) => {
      const response = await fetch(`${traced.facts.opsUrls[service]}/metrics`, { headers: { accept } });
      return response.text();
    }),
  );
  return Buffer.from((await Promise.all(texts)).join());
}

function mapValues<Value, Result>(object: Record<string, Value>, map: (value: Value) => Result): Record<string, Result> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

async function untilLogged(requestId: string): Promise<void> {
  while (!traced.logFiles().some((file) => readFileSync(file).includes(requestId))) await delay(50);
}
