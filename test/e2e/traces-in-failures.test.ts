import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { renderTree, renderTrees } from '#testing/trace-collector.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import {
  type Asked,
  COLLECTOR_KEY,
  filesBelow,
  named,
  PROMPT_WORD,
  REPLY_WORD,
  TracedStack,
  treeWith,
  UPSTREAM_KEY,
  WITH_METRICS,
} from './traced-stack.js';

/** Traces of requests during which a service dies, a search of everything that is exported, and the loss of the collector. */

/** In places that are the client's own and neither prompt nor key: path, query, model, field. */
const STRAY_WORD = 'lynxstray2e4c';

let traced: TracedStack;
beforeAll(async () => {
  traced = await TracedStack.start(WITH_METRICS);
});
afterAll(() => traced?.stop());

/** A request of each format, plain and streamed. */
const REQUESTS = (Object.keys(CLIENT_FORMATS) as FormatName[]).flatMap((format) => [false, true].map((stream) => ({ format, stream })));

/** Their replies stop in the middle. The streamed ones have failed once. */
const HANGING: Asked[] = REQUESTS.map((asked) => ({ ...asked, model: asked.stream ? 'failover' : 'traced', directives: 'hang=2' }));

test('the inference-proxy dies in the middle of requests: each is one tree, without the spans that died with it', async () => {
  const running = await startHanging();
  await traced.facts.kill('inference-proxy');
  await Promise.all(running.map(({ ended }) => ended));
  await traced.facts.ready('inference-proxy');
  const trees = running.map(({ path }) => treeWith(path, [], ' FAILED').filter((line) => !line.includes('inference-proxy')));
  await Promise.all(running.map(({ traceId }, at) => traced.collected(traceId, trees[at]?.length ?? 0)));
  await traced.allCollected();
  expect(running.map(({ traceId }) => renderTree(traced.collector.of(traceId)))).toEqual(trees);
});

test('the gateway dies in the middle of requests: billing and the inference-proxy, which settles, export their parts of one trace', async () => {
  const running = await startHanging();
  await traced.facts.kill('gateway');
  await Promise.all(running.map(({ ended }) => ended));
  await traced.facts.ready('gateway');
  const attempt = '  tollgate-inference-proxy client chat sim-fast';
  const trees = running.map(({ asked }) => [
    ['tollgate-billing server apply reserve'],
    [
      'tollgate-inference-proxy server generate',
      ...(asked.model === 'failover' ? [`${attempt} FAILED`] : []),
      attempt,
      '  tollgate-billing server apply settle',
    ],
  ]);
  await Promise.all(running.map(({ traceId }, at) => traced.collected(traceId, trees[at]?.flat().length ?? 0)));
  await traced.allCollected();
  const spans = running.map(({ traceId }) => traced.collector.of(traceId));
  expect(spans.map(renderTrees)).toEqual(trees);
  // Both parts are below spans of the gateway that died with it.
  const parents = spans.map((all) =>
    all.filter(({ name }) => name === 'apply reserve' || name === 'generate').map(({ parentId }) => parentId),
  );
  expect(parents.map((ids) => new Set(ids.filter((id) => /^[0-9a-f]{16}$/.test(id))).size)).toEqual(running.map(() => 2));
});

/** Resolves when the good upstream has all requests, and what had ended before is collected. */
async function startHanging(): Promise<{ asked: Asked; path: string; traceId: string; ended: Promise<unknown> }[]> {
  const running = HANGING.map((asked) => {
    const traceId = randomBytes(16).toString('hex');
    const ended = traced.ask({ ...asked, traceId }).catch(() => undefined);
    return { asked, path: CLIENT_FORMATS[asked.format ?? 'chat'].path, traceId, ended };
  });
  await Promise.all(running.map(({ traceId }) => traced.untilReceived(traceId)));
  await traced.allCollected();
  return running;
}

test('billing dies while it settles: one tree, with the retry as an event', async () => {
  const { traceId, response } = await traced.open({ stream: true, directives: 'rate=4 tokens=24' });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  // Billing has no span of the reserve left to export, and the reply has not ended.
  await traced.collector.until(() => named(traced.collector.of(traceId), 'apply reserve') !== undefined);
  process.kill(traced.facts.pid('billing') as number, 'SIGSTOP');
  // The reply ends without an answer of billing, so the settlement is under way.
  while (!(await reader.read()).done);
  await traced.facts.kill('billing');
  const spans = await traced.collected(traceId, 8);
  expect(renderTree(spans)).toEqual(treeWith('/v1/chat/completions'));
  const settle = named(spans, 'settle');
  expect(settle?.events[0]).toMatchObject({ name: 'retry', attributes: { 'error.type': expect.any(String) } });
  expect(settle?.attributes['tollgate.status']).toBe('settled');
  await traced.facts.ready('billing');
});

test('no span, metric, log or dashboard has words of prompts or replies, stray texts of a client, or a key', async () => {
  await sendStrayWords();
  for (const asked of REQUESTS) await traced.collected((await traced.ask(asked)).traceId, 8);
  const { requestId } = await traced.ask({ model: 'failing' });
  await traced.untilLogged(2, (line) => line.requestId === requestId);
  const lastExports = traced.collector.metricBodies.length + 10;
  await traced.collector.untilMetrics(() => traced.collector.metricBodies.length >= lastExports);
  const exports = {
    spans: Buffer.concat(traced.collector.bodies),
    metrics: await everyMetric(),
    otlpMetrics: Buffer.concat(traced.collector.metricBodies),
    logs: Buffer.concat(traced.logFiles().map((file) => readFileSync(file))),
    dashboards: Buffer.concat(filesBelow('deploy/observability').map((file) => readFileSync(file))),
    top: Buffer.from(await traced.tollgate('top')),
    trace: Buffer.from(await traced.tollgate('trace', requestId, '--logs', traced.facts.logDir)),
  };
  const keys = [UPSTREAM_KEY, COLLECTOR_KEY, traced.tenant.apiKey, ...Object.values(traced.facts.natsPasswords)];
  const words = [PROMPT_WORD, REPLY_WORD, STRAY_WORD, ...keys];
  const foundIn = (bytes: Buffer): string[] => words.filter((word) => bytes.includes(word));
  expect(mapValues(exports, foundIn)).toEqual({
    ...{ spans: [], metrics: [], otlpMetrics: [], logs: [], dashboards: [], top: [], trace: [] },
  });
  // The search finds what is there.
  expect(
    mapValues(exports, (bytes) => ['gateway', 'panel', 'failing', traced.tenant.keyId].filter((word) => bytes.includes(word))),
  ).toEqual({
    spans: ['gateway', 'failing', traced.tenant.keyId],
    metrics: ['gateway', 'panel', 'failing'],
    otlpMetrics: ['gateway', 'panel', 'failing'],
    logs: ['gateway', 'panel', 'failing', traced.tenant.keyId],
    dashboards: ['gateway', 'panel', 'failing'],
    top: ['failing'],
    trace: ['gateway', 'failing', traced.tenant.keyId],
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
  expect(await countSpans('dropped')).toBeGreaterThan(0);
  collector.answer = answer;
  for (const release of stuck) release();
  const { traceId } = await traced.ask();
  expect(renderTree(await traced.collected(traceId, 8))).toEqual(treeWith('/v1/chat/completions'));
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
    signInToPanel(),
  ].map(async (reply) => (await reply).status);
  expect(await Promise.all(statuses)).toEqual([404, 200, 404, 400, 401, 401]);
}

/** A wrong password, and a query. */
function signInToPanel(): Promise<Response> {
  const { panelUrl } = traced.facts;
  return fetch(`${panelUrl}/panel/v1/session?${STRAY_WORD}`, {
    method: 'POST',
    headers: { origin: panelUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${STRAY_WORD}@example.com`, password: STRAY_WORD }),
  });
}

/** Returns how many spans of the gateway have come to this end. */
async function countSpans(outcome: string): Promise<number> {
  const metrics = await (await fetch(`${traced.facts.opsUrls.gateway}/metrics`)).text();
  return Number(new RegExp(`^tollgate_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
}

/** Returns the metrics of all services in both formats. */
async function everyMetric(): Promise<Buffer> {
  const texts = (['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'] as const).flatMap((service) =>
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
