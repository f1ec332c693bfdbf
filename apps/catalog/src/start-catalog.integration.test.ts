import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ConfigError } from '#config/load-config.js';
import { type AuditEntry, catalogAuditCheck, catalogAuditList } from '#contracts/audit.js';
import { catalogApply, catalogChanged, modelList, routeList } from '#contracts/catalog.js';
import { catalogGet, catalogPlan, revisionList } from '#contracts/catalog-revisions.js';
import { upstreamTestRecord } from '#contracts/probe.js';
import { priceList, priceSchedule } from '#contracts/scheduled-prices.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { createLogger } from '#observability/logger.js';
import { freePort, type TestNatsServer } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { CatalogConfig } from './catalog.config.js';
import { startCatalog } from './start-catalog.js';

const logger = createLogger('test', 'silent');

let nats: TestNatsServer;
let database: TestDatabase;
let folder: string;
let cleanUps: (() => Promise<unknown>)[];

beforeAll(async () => {
  nats = await startNatsWithUsers();
});

beforeEach(async () => {
  cleanUps = [];
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-catalog-'));
});

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  await database.drop();
  await rm(folder, { recursive: true });
});

afterAll(() => nats.stop());

const catalog = (models: Record<string, string>) =>
  JSON.stringify({
    upstreams: [{ id: 'local', kind: 'openai-chat', baseUrl: 'http://127.0.0.1:9100/v1' }],
    models: Object.entries(models).map(([id, usd]) => ({
      id,
      ownedBy: 'us',
      created: 1_700_000_000,
      contextTokens: 1_000,
      maxOutputTokens: 100,
      price: { inputUsdPerMTok: usd, cachedInputUsdPerMTok: '0', outputUsdPerMTok: usd },
      routes: [{ upstream: 'local', model: id }],
    })),
  });

interface Replica {
  readyz(): Promise<{ status: number; body: unknown }>;
  stop(): Promise<void>;
}

/** Starts a replica with its own catalog file. It follows events alone: its interval is an hour. */
async function startReplica(file: string, settings: Partial<CatalogConfig> = {}): Promise<Replica> {
  const catalogFile = join(folder, 'catalog.yaml');
  await writeFile(catalogFile, file);
  const opsPort = await freePort();
  const config = Object.assign(new CatalogConfig(), {
    natsUrl: nats.url,
    natsUser: 'catalog',
    natsPassword: TEST_NATS_PASSWORD,
    databaseUrl: database.serviceUrls.catalog,
    catalogFile,
    catalogRefreshMs: 3_600_000,
    opsPort,
    ...settings,
  });
  let stopped: Promise<void> | undefined;
  const stopOnce = await startCatalog(config, logger);
  const stop = () => {
    stopped ??= stopOnce();
    return stopped;
  };
  cleanUps.push(stop);
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    return { status: response.status, body: await response.json() };
  };
  await eventually(async () => (await readyz()).status === 200);
  return { readyz, stop };
}

async function connectAs(user: string): Promise<Messaging> {
  const messaging = await connectMessaging({ url: nats.url, user, password: TEST_NATS_PASSWORD, service: user, logger });
  cleanUps.push(() => messaging.close());
  return messaging;
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(10);
}

test('a start applies its file: the gateway gets models and prices, the inference-proxy routes', async () => {
  await startReplica(catalog({ a: '1' }));
  const [gateway, proxy] = [await connectAs('gateway'), await connectAs('inference-proxy')];
  expect(await gateway.request(modelList, {})).toEqual({
    revision: 1,
    models: [
      {
        id: 'a',
        ownedBy: 'us',
        displayName: null,
        created: 1_700_000_000,
        contextTokens: 1_000,
        maxOutputTokens: 100,
        defaultOutputTokens: 100,
        input: ['text'],
        reasoning: false,
        reasoningEcho: false,
        tokensPerImageMax: 1_600,
        embeddingDimensions: null,
        price: { version: 1, inputPicoUsd: '1000000', cachedInputPicoUsd: '0', outputPicoUsd: '1000000' },
      },
    ],
  });
  expect(await proxy.request(routeList, {})).toMatchObject({
    revision: 1,
    upstreams: [{ id: 'local', baseUrl: 'http://127.0.0.1:9100/v1', apiKeyEnv: null, connectionsMax: 256 }],
    models: [
      {
        id: 'a',
        routes: [{ upstream: 'local', model: 'a', weight: 1, priority: 0, concurrencyMax: null, capabilities: null, cost: null }],
      },
    ],
  });
});

test('without a file the catalog is empty until a request changes it', async () => {
  await startReplica('', { catalogFile: 'none' });
  const cli = await connectAs('cli');
  expect(await cli.request(modelList, {})).toEqual({ revision: 0, models: [] });
  expect(await cli.request(catalogApply, { yaml: catalog({ a: '1' }) })).toMatchObject({ revision: 1, models: 1 });
});

test('an apply returns the new revision and publishes it once, or not at all when nothing changed', async () => {
  await startReplica(catalog({ a: '1' }));
  const [cli, gateway] = [await connectAs('cli'), await connectAs('gateway')];
  const events: unknown[] = [];
  gateway.subscribe(catalogChanged, (event) => events.push(event));
  await gateway.request(modelList, {}); // the subscription is in place

  const dearer = catalog({ a: '2', b: '1' });
  const unchanged = { added: [], changed: [], disabled: [] };
  const price = (version: number, picoUsd: string) => ({ version, inputPicoUsd: picoUsd, cachedInputPicoUsd: '0', outputPicoUsd: picoUsd });
  expect(await cli.request(catalogApply, { yaml: dearer })).toEqual({
    revision: 2,
    changed: true,
    models: 2,
    upstreams: 1,
    changes: {
      models: { ...unchanged, added: ['b'] },
      upstreams: unchanged,
      repriced: [{ model: 'a', before: price(1, '1000000'), after: price(2, '2000000') }],
    },
  });
  expect(await cli.request(catalogApply, { yaml: dearer })).toEqual({ revision: 2, changed: false, models: 2, upstreams: 1 });
  expect(await cli.request(catalogApply, { yaml: catalog({ b: '1' }) })).toEqual({
    revision: 3,
    changed: true,
    models: 1,
    upstreams: 1,
    changes: { models: { ...unchanged, disabled: ['a'] }, upstreams: unchanged, repriced: [] },
  });
  expect((await cli.request(modelList, {})).models.map(({ id, price }) => [id, price.version])).toEqual([['b', 1]]);
  await eventually(async () => events.length >= 2);
  expect(events).toEqual([{ revision: 2 }, { revision: 3 }]);
});

test('without its database the catalog serves its last revision and refuses an apply', async () => {
  const replica = await startReplica(catalog({ a: '1' }));
  const cli = await connectAs('cli');
  await database.drop();
  expect((await cli.request(modelList, {})).models.map(({ id }) => id)).toEqual(['a']);
  await expect(cli.request(catalogApply, { yaml: catalog({ a: '2' }) })).rejects.toMatchObject({ code: 'unavailable' });
  expect((await cli.request(modelList, {})).revision).toBe(1);
  const reason = expect.stringMatching(/^postgres: 127\.0\.0\.1:\d+: .+$/); // the user is gone
  expect(await replica.readyz()).toEqual({ status: 503, body: { status: 'unavailable', missing: [reason] } });
});

test('on an empty database the service is not ready and names the missing migration, until the migration ran', async () => {
  const empty = await createEmptyDatabase();
  cleanUps.push(() => empty.drop());
  const [catalogFile, opsPort] = [join(folder, 'catalog.yaml'), await freePort()];
  await writeFile(catalogFile, catalog({ a: '1' }));
  const access = { natsUrl: nats.url, natsUser: 'catalog', natsPassword: TEST_NATS_PASSWORD, databaseUrl: empty.url.href };
  const starting = startCatalog(Object.assign(new CatalogConfig(), { ...access, catalogFile, opsPort }), logger);
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    return [response.status, (await response.json()) as unknown];
  };
  const schema = expect.stringMatching(/^schema: migration \d+_billing is missing, and \d+ after it$/);
  await eventually(async () => !/starting|nats/.test(JSON.stringify(await readyz().catch(() => 'starting'))));
  expect(await readyz()).toEqual([503, { status: 'unavailable', missing: [schema, 'catalog'] }]);
  await empty.migrate();
  cleanUps.push(await starting);
  expect(await readyz()).toEqual([200, { status: 'ok', missing: [] }]);
});

test('a stop waits for a running apply for SHUTDOWN_GRACE_MS', async () => {
  const replica = await startReplica(catalog({ a: '1' }), { shutdownGraceMs: 100 });
  const [cli, owner] = [await connectAs('cli'), new pg.Client({ connectionString: database.url })];
  await owner.connect();
  await owner.query('BEGIN; LOCK TABLE catalog.model IN ACCESS EXCLUSIVE MODE'); // until the statement's own limit of 10 s
  let answered = false;
  const caller = new AbortController();
  const applied = cli.request(catalogApply, { yaml: catalog({ a: '2' }) }, { timeoutMs: 60_000, signal: caller.signal }).catch(() => {
    answered = true;
  });
  const waiting = 'SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())';
  await eventually(async () => (await owner.query(waiting)).rowCount !== 0);
  await replica.stop();
  expect(answered).toBe(false);
  caller.abort();
  await applied;
  await owner.end();
});

test('a faulty file ends the start with its faults', async () => {
  await expect(startReplica('models: []\n')).rejects.toThrow(ConfigError);
  await expect(startReplica('models: []\n')).rejects.toThrow(/catalog\.yaml:1: upstreams: is missing/);
});

test('each applied revision is one audit entry: of the start, and of a caller', async () => {
  await startReplica(catalog({ a: '1' }));
  const cli = await connectAs('cli');
  const actor = { actor: 'user/7', actorName: 'Ann', ip: '192.0.2.7', requestId: 'req_1' };
  const yaml = catalog({ a: '2', b: '1' });
  for (let count = 0; count < 2; count++) await cli.request(catalogApply, { yaml, fileName: 'mine.yaml' }, { actor });
  const refused = cli.request(catalogApply, { yaml: 'models: 7' }, { actor });
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });

  const { entries, nextCursor } = await cli.request(catalogAuditList, {});
  const price = (version: number, input: string) => ({ version, inputPicoUsd: input, cachedInputPicoUsd: '0', outputPicoUsd: input });
  const same = { action: 'catalog.apply', accountId: null, id: expect.any(String), at: expect.any(String) };
  const expected: AuditEntry[] = [
    {
      ...{ ...same, ...actor, via: 'cli', target: 'revision/2', reason: null, before: { revision: 1 } },
      after: {
        ...{ revision: 2, fileName: 'mine.yaml', upstreams: { added: [], changed: [], disabled: [] } },
        models: { added: ['b'], changed: [], disabled: [] },
        repriced: [{ model: 'a', before: price(1, '1000000'), after: price(2, '2000000') }],
      },
    },
    {
      ...{ ...same, actor: 'service/catalog', actorName: null, via: null, ip: null, requestId: null },
      ...{ target: 'revision/1', reason: 'start file', before: { revision: 0 } },
      after: {
        ...{ revision: 1, fileName: join(folder, 'catalog.yaml'), repriced: [] },
        upstreams: { added: ['local'], changed: [], disabled: [] },
        models: { added: ['a'], changed: [], disabled: [] },
      },
    },
  ];
  expect({ entries, nextCursor }).toEqual({ entries: expected, nextCursor: null });
  expect((await cli.request(catalogAuditList, { actor: 'user/7' })).entries).toEqual(entries.slice(0, 1));
  expect(await cli.request(catalogAuditCheck, {})).toEqual({ entries: 2, digest: expect.stringMatching(/^[0-9a-f]{64}$/), faults: [] });
});

test('a test of an upstream is an audit entry of the caller that the inference-proxy names, and no revision [sec-audit-row]', async () => {
  await startReplica(catalog({ a: '1' }));
  const [cli, proxy] = [await connectAs('cli'), await connectAs('inference-proxy')];
  const actor = { actor: 'user/7', actorName: 'Ann', ip: '192.0.2.7', requestId: 'req_1' };
  const request = { upstreamId: 'local', models: ['sim-fast'], via: 'panel' };
  expect(await proxy.request(upstreamTestRecord, request, { actor })).toEqual({ target: 'upstream/local' });
  await proxy.request(upstreamTestRecord, { upstreamId: 'new', models: ['m'], host: 'model.example', via: 'cli' });
  const { entries } = await cli.request(catalogAuditList, { action: 'upstream.test' });
  const row = { action: 'upstream.test', accountId: null, reason: null, before: null, id: expect.any(String), at: expect.any(String) };
  const nameless = { actor: 'nats/unknown', actorName: null, ip: null, requestId: null };
  expect(entries).toEqual([
    { ...row, ...nameless, via: 'cli', target: 'upstream/new', after: { models: ['m'], host: 'model.example' } },
    { ...row, ...actor, via: 'panel', target: 'upstream/local', after: { models: ['sim-fast'] } },
  ]);
  expect((await cli.request(revisionList, {})).revisions.map(({ revision }) => revision)).toEqual([1]);
  expect(await cli.request(catalogAuditCheck, {})).toMatchObject({ entries: 3, faults: [] });
});

test('with PANEL_PRIVATE_NETWORK=off the panel opens no private network [sec-upstream-secret]', async () => {
  const open = catalog({ a: '1' }).replace('"kind"', '"allowPrivateNetwork":true,"kind"');
  await startReplica(open, { panelPrivateNetwork: 'off' });
  const [cli, panel] = [await connectAs('cli'), await connectAs('panel')];
  const moved = open.replace('http://127.0.0.1:9100', 'http://127.0.0.1:9200');
  const problem =
    'can be set, or its baseUrl, auth, proxy, path, query, headers, body, kind or health check changed, with the command line alone: PANEL_PRIVATE_NETWORK is off';
  const refusal = expect.stringMatching(new RegExp(`upstreams\\[0\\]\\.allowPrivateNetwork: ${problem}`));
  const more = ['"proxy":"off"', '"path":"admin"', '"query":{"a":"b"}', '"headers":{"x-a":"b"}', '"healthCheck":{"path":"/admin"}'].map(
    (field) => open.replace('"kind"', `${field},"kind"`),
  );
  const otherKind = open.replace('"kind":"openai-chat"', '"kind":"openai-responses"');
  for (const yaml of [moved, otherKind, ...more])
    await expect(panel.request(catalogApply, { yaml })).rejects.toMatchObject({ code: 'invalid_request', message: refusal });
  const plan = (appliedBy?: 'cli' | 'panel') => panel.request(catalogPlan, { yaml: moved, appliedBy });
  expect((await plan('panel')).faults).toEqual([{ line: 1, field: 'upstreams[0].allowPrivateNetwork', problem }]);
  expect([(await plan('cli')).faults, (await plan()).faults]).toEqual([[], []]);
  // What is open stays open, and the command line opens more.
  expect(await panel.request(catalogApply, { yaml: open.replace(/"1"/g, '"2"') })).toMatchObject({ revision: 2 });
  expect(await cli.request(catalogApply, { yaml: moved })).toMatchObject({ revision: 3 });
  expect(await panel.request(catalogApply, { yaml: moved })).toMatchObject({ revision: 3, changed: false });
});

test('no audit entry has a value of the environment or the address of an upstream', async () => {
  process.env.UPSTREAM_MARKER_HOST = '127.0.0.111';
  await startReplica(catalog({ a: '1' }).replace('http://127.0.0.1:9100', `http://\${UPSTREAM_MARKER_HOST}`));
  const cli = await connectAs('cli');
  const { entries } = await cli.request(catalogAuditList, {});
  expect(entries).toHaveLength(1);
  expect(JSON.stringify(entries)).not.toContain('127.0.0.111');
});

const price = (usd: string) => ({ inputUsdPerMTok: usd, cachedInputUsdPerMTok: '0', outputUsdPerMTok: usd });
const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

test('revisions have their texts, authors and changes, page by page', async () => {
  await startReplica(catalog({ a: '1' }));
  const cli = await connectAs('cli');
  const actor = { actor: 'user/7', actorName: 'Ann', ip: '192.0.2.7', requestId: 'req_1' };
  for (const usd of ['2', '3']) await cli.request(catalogApply, { yaml: catalog({ a: usd }), fileName: `${usd}.yaml` }, { actor });
  const [ids, at] = [expect.any(String), expect.any(String)];
  const none = { added: [], changed: [], disabled: [] };
  const priced = (version: number, usd: string) => ({
    version,
    inputPicoUsd: `${usd}000000`,
    cachedInputPicoUsd: '0',
    outputPicoUsd: `${usd}000000`,
  });
  const latest = {
    ...{ ...actor, via: 'cli', revision: 3, at, auditId: ids, fileName: '3.yaml', scheduledPriceId: null, reason: null },
    changes: { models: none, upstreams: none, repriced: [{ model: 'a', before: priced(2, '2'), after: priced(3, '3') }] },
  };
  expect(await cli.request(catalogGet, {})).toEqual({ ...latest, yaml: catalog({ a: '3' }), currentRevision: 3, editing: true });
  expect(await cli.request(catalogGet, { revision: 1 })).toMatchObject({
    ...{ revision: 1, actor: 'service/catalog', reason: 'start file', yaml: catalog({ a: '1' }), currentRevision: 3 },
  });
  await expect(cli.request(catalogGet, { revision: 4 })).rejects.toMatchObject({ code: 'not_found', param: 'revision' });

  const first = await cli.request(revisionList, { limit: 2 });
  expect([first.revisions.map(({ revision }) => revision), first.revisions[0]]).toEqual([[3, 2], latest]);
  const second = await cli.request(revisionList, { limit: 2, cursor: first.nextCursor ?? '' });
  expect([second.revisions.map(({ revision }) => revision), second.nextCursor]).toEqual([[1], null]);
});

test('with CATALOG_EDITING off the file is applied, and nothing else', async () => {
  await startReplica(catalog({ a: '1' }), { catalogEditing: 'off' });
  const cli = await connectAs('cli');
  const refusal = { code: 'conflict', message: expect.stringContaining('CATALOG_EDITING is off') };
  await expect(cli.request(catalogApply, { yaml: catalog({ a: '2' }) })).rejects.toMatchObject(refusal);
  const scheduled = cli.request(priceSchedule, { model: 'a', price: price('2'), effectiveAt: '2099-01-01' });
  await expect(scheduled).rejects.toMatchObject(refusal);
  expect(await cli.request(catalogGet, {})).toMatchObject({ revision: 1, editing: false });
  expect(await cli.request(catalogPlan, { yaml: catalog({ a: '2' }) })).toMatchObject({ changes: { repriced: [{ model: 'a' }] } });
});

test('a scheduled price is announced at once with the old revision, and at its time as one revision of two replicas', async () => {
  await Promise.all([startReplica(catalog({ a: '1' })), startReplica(catalog({ a: '1' }))]);
  const [cli, gateway] = [await connectAs('cli'), await connectAs('gateway')];
  const events: number[] = [];
  gateway.subscribe(catalogChanged, ({ revision }) => events.push(revision));
  const before = await gateway.request(modelList, {});
  const effectiveAt = soon(500);
  await cli.request(priceSchedule, { model: 'a', price: price('2'), effectiveAt });
  await eventually(async () => events.length > 0 && events.at(-1) !== 1);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(effectiveAt));
  expect([...new Set(events)]).toEqual([1, 2]);
  const after = await gateway.request(modelList, { known: 2 });
  expect([before, after].map(({ revision, models }) => [revision, models[0]?.price.version, models[0]?.price.inputPicoUsd])).toEqual([
    [1, 1, '1000000'],
    [2, 2, '2000000'],
  ]);
  expect((await cli.request(priceList, {})).prices).toEqual([]);
});
