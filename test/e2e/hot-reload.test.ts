import { setTimeout as delay } from 'node:timers/promises';
import { connect, JSONCodec, type NatsConnection } from 'nats';
import { stringify } from 'yaml';
import { requestShow } from '#contracts/billing/requests.js';
import { catalogApply } from '#contracts/catalog.js';
import { type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost } from '#money/price.js';
import { leastMs } from '#testing/least-ms.js';
import { longOr } from '#testing/long-run.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilOffered } from '#testing/tenant.js';
import type { RunningReplicas } from '../../scripts/local/replicas.ts';
import { SimulatorProcess } from './simulator-process.js';

/**
 * Catalog changes under load, on three gateways, three proxies and two catalogs: each replica sees them by announcement, no stream breaks,
 * and every price is right. The long run, alone on its machine, also asserts that a change takes less than a second.
 */
const SEEN_MS = longOr(Number.POSITIVE_INFINITY, 1_000);
/** Longer than the test, so that only announcements spread a change. */
const ANNOUNCED_ONLY = { CATALOG_REFRESH_MS: '3600000' };
const REPLICAS = 3;
const STREAMS_PER_SECOND = 10;
const TOKENS = 60;
/** Token size of the simulator. */
const BYTES_PER_TOKEN = 4;
/** Each stream takes more than a second, so that every change meets running streams. */
const PACE = `tokens=${TOKENS} rate=40`;
/** Both catalogs start with the same file, so that the second start changes nothing. */
const CATALOG_ENV = { UPSTREAM_LOCAL_URL: 'http://127.0.0.1:9100/v1' };

let stack: RunningStack;
let replicas: RunningReplicas;
let administrator: Messaging;
let plain: NatsConnection;
let tenant: Tenant;
let simulators: Record<'a' | 'b', SimulatorProcess>;
let load: Load;

beforeAll(async () => {
  const [started, a, b] = await Promise.all([
    startPrivateStack({ services: ['billing', 'catalog'], serviceEnv: { catalog: CATALOG_ENV }, ownPostgres: true }),
    SimulatorProcess.start(),
    SimulatorProcess.start(),
  ]);
  [stack, simulators] = [started, { a, b }];
  const { startReplicas } = await import('../../scripts/local/replicas.ts');
  const names = Array.from({ length: REPLICAS }, (_, index) => index + 1);
  administrator = await connectAdministrator(stack);
  await apply({ models: [{ id: 'steady' }] });
  replicas = await startReplicas(stack, [
    { name: 'catalog-2', service: 'catalog', env: CATALOG_ENV },
    ...names.map((name) => ({ name: `inference-proxy-${name}`, service: 'inference-proxy' as const, env: ANNOUNCED_ONLY })),
    ...names.map((name) => ({ name: `gateway-${name}`, service: 'gateway' as const, env: ANNOUNCED_ONLY })),
  ]);
  plain = await connect({ servers: stack.natsUrl, user: 'cli', pass: stack.natsPasswords.cli, inboxPrefix: '_INBOX.cli' });
  tenant = await createTenant(administrator, { usd: '1000.00' });
  for (const url of gateways()) await untilOffered(url, tenant.apiKey, ['steady']);
});

afterAll(async () => {
  await load?.stop();
  await plain?.close();
  await administrator?.close();
  await replicas?.stop();
  for (const simulator of Object.values(simulators ?? {})) await simulator.kill();
  await stack?.stop();
});

const gateways = (): string[] => Object.values(replicas.gatewayUrls);

interface Wanted {
  models: { id: string; outputUsd?: string; routes?: { upstream: string; weight?: number }[] }[];
  /** Enabled routes; the others have `enabled: false`. */
  inUse?: ('a' | 'b')[];
}

async function apply({ models, inUse = ['a', 'b'] }: Wanted): Promise<number> {
  const yaml = stringify({
    upstreams: Object.entries(simulators).map(([id, { baseUrl }]) => ({
      id,
      kind: 'openai-chat',
      baseUrl,
      allowPrivateNetwork: true,
      enabled: inUse.some((used) => used === id),
    })),
    models: models.map(({ id, outputUsd = '2', routes = [{ upstream: 'a' }] }) => ({
      id,
      ownedBy: 'tollgate',
      contextTokens: 100_000,
      maxOutputTokens: 1_000,
      price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.5', outputUsdPerMTok: outputUsd },
      routes: routes.map((route) => ({ ...route, model: 'sim-fast' })),
    })),
  });
  return (await administrator.request(catalogApply, { yaml })).revision;
}

interface Outcome {
  sentAt: number;
  requestId: string;
  /** 0 without an answer. */
  status: number;
  isWhole: boolean;
}

/** Opens streams at each gateway in turn, until it is stopped. */
class Load {
  readonly outcomes: Outcome[] = [];
  private readonly running = new Set<Promise<unknown>>();
  private readonly timer = setInterval(() => this.send(), 1_000 / STREAMS_PER_SECOND);
  private count = 0;

  get underWay(): number {
    return this.running.size;
  }

  async stop(): Promise<Outcome[]> {
    clearInterval(this.timer);
    await Promise.all(this.running);
    return this.outcomes;
  }

  private send(): void {
    const sentAt = performance.now();
    const stream = request(this.count++, 'steady')
      .catch(() => ({ sentAt, requestId: '', status: 0, isWhole: false }))
      .then((outcome) => {
        this.outcomes.push(outcome);
        this.running.delete(stream);
      });
    this.running.add(stream);
  }
}

async function request(index: number, model: string): Promise<Outcome> {
  const sentAt = performance.now();
  const urls = gateways();
  const response = await fetch(`${urls[index % urls.length]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: `Question ${index} [[sim ${PACE}]]` }] }),
  });
  const text = await response.text().catch(() => '');
  const isWhole = text.endsWith('data: [DONE]\n\n') && readText(text).length === TOKENS * BYTES_PER_TOKEN;
  return { sentAt, requestId: response.headers.get('x-request-id') ?? '', status: response.status, isWhole };
}

/** Joins the text of all chat chunks. Works only for text without JSON escapes. */
function readText(stream: string): string {
  return [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, text = '']) => text).join('');
}

/** Milliseconds from `startedAt` until `isSo`. */
async function msUntil(startedAt: number, isSo: () => Promise<boolean>): Promise<number> {
  while (!(await isSo())) await delay(10);
  return performance.now() - startedAt;
}

const codec = JSONCodec<RouteStatusReply>();

/** Current status of the proxies that answer in time. */
async function proxies(): Promise<RouteStatusReply[]> {
  const replies: RouteStatusReply[] = [];
  const inbox = `_INBOX.cli.reload${Math.random().toString(36).slice(2)}`;
  const subscription = plain.subscribe(inbox, { max: REPLICAS, callback: (_, message) => replies.push(codec.decode(message.data)) });
  plain.publish(routeStatus.subject, undefined, { reply: inbox });
  await Promise.race([subscription.closed, delay(500)]);
  subscription.unsubscribe();
  return replies;
}

/** Status of all three proxies. */
async function everyProxy(): Promise<RouteStatusReply[]> {
  for (;;) {
    const replies = await proxies();
    if (replies.length === REPLICAS) return replies;
  }
}

const proxiesHave = async (revision: number): Promise<boolean> => {
  const replies = await proxies();
  return replies.length === REPLICAS && replies.every(({ catalogRevision }) => catalogRevision === revision);
};

const gatewaysOffer = async (model: string): Promise<boolean> => {
  const lists = await Promise.all(
    gateways().map(async (url) => {
      const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${tenant.apiKey}` } });
      return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    }),
  );
  return lists.every((list) => list.includes(model));
};

let changes = 0;

/** Applies a change under load. Returns the milliseconds until every gateway and proxy has it. Each change adds a model that marks it. */
async function change(wanted: Wanted): Promise<number> {
  const marker = `marker-${changes++}`;
  const [upstream = 'a'] = wanted.inUse ?? [];
  const startedAt = performance.now();
  const revision = await apply({ ...wanted, models: [...wanted.models, { id: marker, routes: [{ upstream }] }] });
  const took = [msUntil(startedAt, () => gatewaysOffer(marker)), msUntil(startedAt, () => proxiesHave(revision))];
  return Math.max(...(await Promise.all(took)));
}

test('changes of a model, a price, a weight, a route and an upstream under load reach every replica, without broken streams or wrong prices', async () => {
  load = new Load();
  await delay(1_000);
  const priced: { before: number; after: number }[] = [];
  const tookMs: Record<string, number> = {};
  const step = async (name: string, wanted: Wanted): Promise<void> => {
    const before = performance.now();
    const underWay = load.underWay;
    tookMs[name] = await leastMs(SEEN_MS, () => change(wanted));
    expect(underWay).toBeGreaterThan(5);
    if (name === 'price') priced.push({ before, after: performance.now() });
    await delay(500);
  };

  await step('model added', { models: [{ id: 'steady' }, { id: 'added' }] });
  expect((await Promise.all(gateways().map((_, index) => request(index, 'added')))).map(({ isWhole }) => isWhole)).toEqual([
    true,
    true,
    true,
  ]);
  await step('price', { models: [{ id: 'steady', outputUsd: '9' }] });
  await step('weight', {
    models: [
      {
        id: 'steady',
        outputUsd: '9',
        routes: [
          { upstream: 'a', weight: 1 },
          { upstream: 'b', weight: 9 },
        ],
      },
    ],
  });
  const weights = (await everyProxy()).map(({ routes }) => routes.filter(({ model }) => model === 'steady').map(({ weight }) => weight));
  expect(weights).toEqual([
    [1, 9],
    [1, 9],
    [1, 9],
  ]);
  const onA = await simulators.a.started();
  await step('route', { models: [{ id: 'steady', outputUsd: '9', routes: [{ upstream: 'a' }] }] });
  await step('upstream disabled', {
    models: [{ id: 'steady', outputUsd: '9', routes: [{ upstream: 'a' }, { upstream: 'b' }] }],
    inUse: ['b'],
  });
  const lastOnA = await simulators.a.started();
  expect(lastOnA).toBeGreaterThan(onA);
  await delay(500);
  expect(await simulators.a.started()).toBe(lastOnA);

  const outcomes = await load.stop();
  expect(Object.entries(tookMs).filter(([, ms]) => ms >= SEEN_MS)).toEqual([]);
  expect(outcomes.filter(({ status, isWhole }) => status !== 200 || !isWhole)).toEqual([]);
  await expectRightPrices(outcomes, priced[0] ?? { before: 0, after: 0 });
});

/** Requests before the change have the old price; requests after every replica has seen it have the new one. */
async function expectRightPrices(outcomes: readonly Outcome[], { before, after }: { before: number; after: number }): Promise<void> {
  const wrong: unknown[] = [];
  for (const { requestId, sentAt } of outcomes) {
    const { price, settlement } = await administrator.request(requestShow, { requestId });
    const { version, inputPicoUsd, cachedInputPicoUsd, outputPicoUsd } = price;
    const prices = {
      inputPicoUsd: BigInt(inputPicoUsd),
      cachedInputPicoUsd: BigInt(cachedInputPicoUsd),
      outputPicoUsd: BigInt(outputPicoUsd),
    };
    const cost = settlement && computeCost(settlement.usage, prices).toString();
    const expected = version === 1 ? '2000000' : '9000000';
    const isVersion = sentAt < before ? version === 1 : sentAt > after ? version === 2 : true;
    if (!isVersion || outputPicoUsd !== expected || cost !== settlement?.costPicoUsd || settlement?.reason !== 'completed')
      wrong.push({ requestId, sentAt, before, after, price, settlement });
  }
  expect(wrong).toEqual([]);
}
