import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { catalogApply, catalogChanged, type ModelListReply, modelList, type RouteListReply, routeList } from '#contracts/catalog.js';
import type { ServiceError } from '#contracts/service-error.js';
import { serviceAuthor } from '#database/audit-journal.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { RevisionFollower } from '#messaging/revision-follower.js';
import { createLogger } from '#observability/logger.js';
import { leastMs } from '#testing/least-ms.js';
import { freePort, type TestNatsServer } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { TcpLink } from '#testing/tcp-link.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { CatalogStore } from './apply/catalog-store.js';
import { CatalogConfig } from './catalog.config.js';
import { parseCatalogFile } from './file/parse-catalog-file.js';
import { startCatalog } from './start-catalog.js';

/** Maximum time from an apply until every follower has it. */
const SEEN_MS = 1_000;
const HOUR_MS = 3_600_000;

const logger = createLogger('test', 'silent');

type Connected = Awaited<ReturnType<typeof connectMessaging>>;

let nats: TestNatsServer;
let database: TestDatabase;
let folder: string;
let cable: TcpLink;
let prisma: PrismaClient;
let store: CatalogStore;
let catalogUser: Connected;
let cleanUps: (() => unknown)[];

beforeAll(async () => {
  nats = await startNatsWithUsers();
});

/** Starts two replicas, one with a connection to its database that can be cut. */
async function startTwo({ catalogRefreshMs = HOUR_MS } = {}): Promise<void> {
  await Promise.all([startReplica(database.serviceUrls.catalog, catalogRefreshMs), startReplica(throughCable(), catalogRefreshMs)]);
}

beforeEach(async () => {
  cleanUps = [];
  database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  folder = await mkdtemp(join(tmpdir(), 'tollgate-catalog-'));
  cleanUps.push(() => rm(folder, { recursive: true }));
  cable = await TcpLink.to(Number(new URL(database.serviceUrls.catalog).port));
  cleanUps.push(() => cable.close());
  prisma = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test' });
  cleanUps.push(() => prisma.$disconnect());
  store = new CatalogStore(prisma);
  catalogUser = await connectAs('catalog');
});

afterEach(async () => {
  cable.restore();
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

afterAll(() => nats.stop());

/** Returns a catalog with this price. */
const catalog = (usd: number): string =>
  JSON.stringify({
    upstreams: [{ id: 'local', kind: 'openai-chat', baseUrl: `http://127.0.0.1:${9_000 + usd}/v1` }],
    models: [
      {
        id: 'a',
        ownedBy: 'us',
        contextTokens: 1_000,
        maxOutputTokens: 100,
        price: { inputUsdPerMTok: String(usd), cachedInputUsdPerMTok: '0', outputUsdPerMTok: '1' },
        routes: [{ upstream: 'local', model: 'a' }],
      },
    ],
  });

function throughCable(): string {
  return Object.assign(new URL(database.serviceUrls.catalog), { port: String(cable.port) }).href;
}

async function startReplica(databaseUrl: string, catalogRefreshMs: number): Promise<void> {
  const opsPort = await freePort();
  const catalogFile = join(folder, `${opsPort}.yaml`);
  await writeFile(catalogFile, catalog(1));
  const connection = { natsUrl: nats.url, natsUser: 'catalog', natsPassword: TEST_NATS_PASSWORD, databaseUrl };
  const config = Object.assign(new CatalogConfig(), { ...connection, catalogFile, catalogRefreshMs, opsPort });
  cleanUps.push(await startCatalog(config, logger));
  const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).ok;
  while (!(await isReady())) await delay(10);
}

async function connectAs(user: string): Promise<Connected> {
  const messaging = await connectMessaging({ url: nats.url, user, password: TEST_NATS_PASSWORD, service: user, logger });
  cleanUps.push(() => messaging.close());
  return messaging;
}

/** Collects the replies applied by the gateway and the inference-proxy. By default only events trigger them. */
async function startFollowers(refreshMs = HOUR_MS): Promise<{ models: ModelListReply[]; routes: RouteListReply[] }> {
  const applied = { models: [] as ModelListReply[], routes: [] as RouteListReply[] };
  const [gateway, proxy] = [await connectAs('gateway'), await connectAs('inference-proxy')];
  const models = { endpoint: modelList, changed: catalogChanged, refreshMs, apply: (reply: ModelListReply) => applied.models.push(reply) };
  const routes = { endpoint: routeList, changed: catalogChanged, refreshMs, apply: (reply: RouteListReply) => applied.routes.push(reply) };
  cleanUps.push(new RevisionFollower(gateway, models, logger).start());
  cleanUps.push(new RevisionFollower(proxy, routes, logger).start());
  await seen(applied, 1);
  return applied;
}

type Applied = Awaited<ReturnType<typeof startFollowers>>;

const ORIGIN = { author: serviceAuthor('catalog'), fileName: 'catalog.yaml', yaml: '' };

/** Resolves to the milliseconds until both have the revision. */
async function seen({ models, routes }: Applied, revision: number): Promise<number> {
  const startedAt = performance.now();
  while (models.at(-1)?.revision !== revision || routes.at(-1)?.revision !== revision) await delay(2);
  return performance.now() - startedAt;
}

/** Applies as a third replica. Resolves when the server has the event, so that no replica gets a later request before it. */
async function applyElsewhere(usd: number): Promise<number> {
  const { revision } = await store.apply(
    parseCatalogFile(catalog(usd), 'catalog.yaml', () => undefined),
    ORIGIN,
  );
  catalogUser.publish(catalogChanged, { revision });
  catalogUser.link.outbox.flush();
  await catalogUser.link.connection.flush();
  return revision;
}

/** Returns the revision of the first answer. A replica with a slow database may ask the gateway to retry, and it does. */
async function firstAnswer(gateway: Messaging): Promise<number> {
  for (;;) {
    const reply = await gateway.request(modelList, {}).catch((error: ServiceError) => error);
    if ('revision' in reply) return reply.revision;
    expect(reply.code).toBe('unavailable');
  }
}

const isAscending = (replies: { revision: number }[]): boolean =>
  replies.every(({ revision }, index) => revision >= (replies[index - 1]?.revision ?? 0));

test('two replicas: each of many changes is seen by its event, none is taken back', async () => {
  await startTwo();
  const applied = await startFollowers();
  const cli = await connectAs('cli');
  for (let usd = 2; usd <= 11; usd++) {
    const { revision } = await cli.request(catalogApply, { yaml: catalog(usd) });
    await seen(applied, revision);
  }
  expect(applied.models.at(-1)?.models[0]?.price.inputPicoUsd).toBe('11000000');
  expect(applied.routes.at(-1)?.upstreams[0]?.baseUrl).toBe('http://127.0.0.1:9011/v1');
  expect([applied.models, applied.routes].map(isAscending)).toEqual([true, true]);
});

describe.each(['refusal', 'silence'] as const)('one of two replicas has lost its database, by %s', (how) => {
  beforeEach(() => startTwo());

  test('each change is seen in less than a second, none is taken back', async () => {
    const applied = await startFollowers(100);
    cable.cut(how);
    let usd = 2;
    const change = async (): Promise<number> => {
      const ms = await seen(applied, await applyElsewhere(usd++));
      await delay(150); // they ask again by themselves
      return ms;
    };
    for (let changes = 0; changes < 4; changes++) expect(await leastMs(SEEN_MS, change)).toBeLessThan(SEEN_MS);
    expect([applied.models, applied.routes].map(isAscending)).toEqual([true, true]);
  });

  test('a gateway that starts meanwhile gets the newest revision', async () => {
    cable.cut(how);
    const revision = await applyElsewhere(2);
    const gateway = await connectAs('gateway');
    const answers = await Promise.all(Array.from({ length: 10 }, () => firstAnswer(gateway)));
    expect(new Set(answers)).toEqual(new Set([revision]));
  });
});

test('when a replica dies before it publishes a change, another publishes it', async () => {
  await startTwo({ catalogRefreshMs: 100 });
  const applied = await startFollowers();
  const { revision } = await store.apply(
    parseCatalogFile(catalog(2), 'catalog.yaml', () => undefined),
    ORIGIN,
  );
  await seen(applied, revision);
});

test('after a restore of the database every service goes back with it, and follows later changes', async () => {
  await startTwo({ catalogRefreshMs: 100 });
  const applied = await startFollowers();
  for (const usd of [2, 3, 4]) await seen(applied, await applyElsewhere(usd));
  await prisma.$transaction([
    prisma.catalogState.update({ where: { id: 1 }, data: { revision: 2 } }),
    prisma.$queryRaw`SELECT catalog.record_audit('{"actor": "test"}', 'test', NULL, 'revision/2', NULL, NULL, NULL)`,
  ]);
  await seen(applied, 2);
  expect(await applyElsewhere(5)).toBe(3);
  await seen(applied, 3);
});
