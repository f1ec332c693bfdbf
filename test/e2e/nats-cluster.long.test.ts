import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { catalogApply } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { startNatsCluster, type TestNatsCluster, type TestNatsServer } from '#testing/nats-server.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds, untilOffered } from '#testing/tenant.js';
import { CLIENT_FORMATS, type FormatName, readData } from '../chaos/client-format.js';

/**
 * Paced streams through two NATS servers, of which each is drained in turn, then killed in turn. No client notices: no stream is broken,
 * its text is the simulator's, and it never stands still for two seconds.
 */
const STREAMS_A_FORMAT = Number(process.env.CLUSTER_STREAMS ?? 100);
const STREAM_TEXT = '[[sim tokens=300 rate=10]]';
const GAP_MS_MAX = 2_000;
const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];
const CONFIG = fileURLToPath(new URL('../../config/nats-passwords.conf', import.meta.url));
const USERS = ['GATEWAY', 'BILLING', 'CATALOG', 'INFERENCE_PROXY', 'PANEL', 'CLI', 'INTERNAL'];
const PASSWORDS = Object.fromEntries(USERS.map((user) => [`NATS_${user}_PASSWORD`, 'test']));

let cluster: TestNatsCluster;
let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;
let isAsking = false;

beforeAll(async () => {
  cluster = await startNatsCluster(2, ['-c', CONFIG], PASSWORDS);
  const [first = '', second = ''] = cluster.servers.map(({ url }) => url);
  Object.assign(process.env, PASSWORDS);
  stack = await startPrivateStack({
    natsUrl: first,
    serviceEnv: { gateway: { NATS_URL: first }, 'inference-proxy': { NATS_URL: second }, billing: { NATS_URL: second } },
  });
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator, { usd: '10000.00' });
  await administrator.request(catalogApply, { yaml: renderCatalog(`${stack.upstreamUrl}/v1`) });
  await untilOffered(stack.gatewayUrl, tenant.apiKey, ['story']);
}, 120_000);
afterEach(() => {
  isAsking = false;
});
afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
  await cluster?.stop();
}, 60_000);

/** The model `story`, with connections for all streams. */
function renderCatalog(baseUrl: string): string {
  const connectionsMax = 4 * FORMATS.length * STREAMS_A_FORMAT;
  const price = { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '3' };
  const size = { contextTokens: 100_000, maxOutputTokens: 1_000, defaultOutputTokens: 400 };
  return JSON.stringify({
    upstreams: [{ id: 'sim', kind: 'openai-chat', baseUrl, allowPrivateNetwork: true, connectionsMax }],
    models: [{ id: 'story', ownedBy: 'tollgate', ...size, price, routes: [{ upstream: 'sim', model: 'sim-fast' }] }],
  });
}

function post(format: FormatName, text: string, stream: boolean): Promise<Response> {
  const { path, body } = CLIENT_FORMATS[format];
  return fetch(stack.gatewayUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body({ model: 'story', text, stream, outputTokensMax: 400, withTool: false })),
  });
}

interface Received {
  status: number;
  text: string;
  isComplete: boolean;
  gapMs: number;
}

/** Reads one stream. The gap is the longest time between two pieces of its body. */
async function readStream(format: FormatName, text: string): Promise<Received> {
  const response = await post(format, text, true);
  const decoder = new TextDecoder();
  let body = '';
  let gapMs = 0;
  let lastAt = performance.now();
  for await (const bytes of response.body ?? []) {
    body += decoder.decode(bytes, { stream: true });
    gapMs = Math.max(gapMs, performance.now() - lastAt);
    lastAt = performance.now();
  }
  const received: Received = { status: response.status, text: '', isComplete: false, gapMs };
  for (const data of readData(body)) {
    if (data === '[DONE]') {
      received.isComplete = true;
      continue;
    }
    const event = CLIENT_FORMATS[format].readEvent(JSON.parse(data));
    received.text += event.text ?? '';
    if (event.ended === 'complete') received.isComplete = true;
  }
  return received;
}

/** The simulator's own reply. */
async function askForText(text: string): Promise<string> {
  const response = await fetch(`${stack.upstreamUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: text }], max_tokens: 400 }),
  });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? '';
}

/** Asks one plain request after the other while `isAsking`. Returns the number of requests, and the statuses other than 200. */
async function askPlain(format: FormatName): Promise<{ asked: number; refused: number[] }> {
  const refused: number[] = [];
  let asked = 0;
  for (; isAsking; asked++) {
    const response = await post(format, 'Hello [[sim tokens=5]]', false);
    await response.arrayBuffer();
    if (response.status !== 200) refused.push(response.status);
  }
  return { asked, refused };
}

test.each([
  ['drained', async (server: TestNatsServer) => server.drain()],
  ['killed', (server: TestNatsServer) => server.kill()],
])(
  'no client notices that each server in turn is %s',
  async (what, disturb) => {
    const prompts = Array.from({ length: STREAMS_A_FORMAT }, (_, index) => `Story ${index} of servers that are ${what}. ${STREAM_TEXT}`);
    const streams = prompts.flatMap((text) => FORMATS.map((format) => readStream(format, text)));
    const texts = prompts.map(askForText);
    isAsking = true;
    const plain = FORMATS.map((format) => askPlain(format));
    for (const server of cluster.servers) {
      await delay(6_000);
      await disturb(server);
      await delay(5_000);
      await server.restart();
      await cluster.whole();
    }
    const received = await Promise.all(streams);
    isAsking = false;
    const asked = await Promise.all(plain);
    const gapMs = Math.round(Math.max(...received.map((stream) => stream.gapMs)));
    console.log(`${what}: ${received.length} streams, longest gap ${gapMs} ms; plain requests: ${JSON.stringify(asked)}`);
    const expected = (await Promise.all(texts)).flatMap((text) => FORMATS.map(() => ({ status: 200, text, isComplete: true })));
    expect(received.map(({ gapMs: _gap, ...stream }) => stream)).toEqual(expected);
    expect(gapMs).toBeLessThan(GAP_MS_MAX);
    expect(asked.flatMap(({ refused }) => refused)).toEqual([]);
    await untilNoHolds(administrator, tenant.accountId, 30_000);
    expect((await administrator.request(ledgerCheck, {}, { timeoutMs: 60_000 })).violations).toEqual([]);
  },
  120_000,
);
