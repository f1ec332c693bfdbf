import { serviceAuthor } from '#database/audit-journal.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { parseCatalogFile } from '../file/parse-catalog-file.js';
import { type ApplyOrigin, CatalogStore } from './catalog-store.js';

let database: TestDatabase;
let prisma: PrismaClient;
let other: PrismaClient;
let store: CatalogStore;
const ORIGIN: ApplyOrigin = { author: serviceAuthor('catalog'), fileName: 'c.yaml', yaml: '# a text' };

beforeEach(async () => {
  database = await createTestDatabase();
  prisma = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test' });
  other = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test-other' });
  store = new CatalogStore(prisma);
});

afterEach(async () => {
  await Promise.all([prisma.$disconnect(), other.$disconnect()]);
  await database.drop();
});

const listPrice = (usd: string) => ({ inputUsdPerMTok: usd, cachedInputUsdPerMTok: '0', outputUsdPerMTok: usd });

/** Returns a catalog of models with one price each. */
const catalog = (models: Record<string, string>, baseUrl = 'https://127.0.0.1:9100/v1') =>
  parseCatalogFile(
    JSON.stringify({
      upstreams: [
        {
          id: 'local',
          kind: 'openai-chat',
          baseUrl,
          timeouts: { idleMs: 7_000 },
          healthCheck: { path: '/health' },
          auth: { kind: 'header', name: 'api-key', secret: { file: 'key' } },
          tls: { caFile: 'ca.pem' },
          path: 'models/{model}/chat',
          query: { 'api-version': '2024-10-21', a: 'b' },
          headers: { 'x-route': 'a', 'x-api-key': { env: 'UPSTREAM_KEY_A' } },
          body: { store: false, model: null },
        },
      ],
      models: Object.entries(models).map(([id, usd]) => ({
        id,
        ownedBy: 'us',
        displayName: `Model ${id}`,
        created: 1_700_000_000,
        contextTokens: 1_000,
        maxOutputTokens: 100,
        price: listPrice(usd),
        routes: [{ upstream: 'local', model: id, concurrencyMax: 4, capabilities: { temperature: false }, cost: listPrice(usd) }],
      })),
    }),
    'c.yaml',
    () => undefined,
  );

const prices = () => prisma.modelPrice.findMany({ orderBy: [{ modelId: 'asc' }, { version: 'asc' }], omit: { createdAt: true } });
const priceRow = (modelId: string, version: number, price: bigint) => ({
  modelId,
  version,
  inputPrice: price,
  cachedInputPrice: 0n,
  outputPrice: price,
  cacheWritePrice: null,
  cacheWrite1hPrice: null,
  rules: null,
  requestPrice: null,
  imagePrice: null,
});

test('an applied catalog is read back whole', async () => {
  expect((await store.apply(catalog({ a: '1', b: '2' }), ORIGIN)).revision).toBe(1);
  const wanted = catalog({ a: '1', b: '2' });
  expect(await store.read()).toEqual({
    revision: 1,
    upstreams: wanted.upstreams.map((upstream, position) => ({ ...upstream, enabled: true, position })),
    models: wanted.models.map((model, position) => ({
      ...model,
      position,
      price: { version: 1, ...model.price },
      routes: model.routes.map((route) => ({ ...route, enabled: true, position: 0 })),
    })),
    pricePlans: [],
    services: [],
    scheduledPrices: [],
  });
});

test('applying the same file again keeps the revision', async () => {
  await store.apply(catalog({ a: '1' }), ORIGIN);
  expect(await store.apply(catalog({ a: '1' }), ORIGIN)).toEqual({ revision: 1, changes: null });
  expect((await store.readVersion()).revision).toBe(1);
});

test('a changed price is a new version', async () => {
  await store.apply(catalog({ a: '1', b: '2' }), ORIGIN);
  await store.apply(catalog({ a: '3', b: '2' }), ORIGIN);
  await store.apply(catalog({ a: '1', b: '2' }), ORIGIN);
  expect(await prices()).toEqual([
    priceRow('a', 1, 1_000_000n),
    priceRow('a', 2, 3_000_000n),
    priceRow('a', 3, 1_000_000n),
    priceRow('b', 1, 2_000_000n),
  ]);
  expect((await store.read()).models.map(({ id, price }) => [id, price.version])).toEqual([
    ['a', 3],
    ['b', 1],
  ]);
});

test.each([
  'UPDATE catalog.price SET input_price = 0',
  'DELETE FROM catalog.price',
  'TRUNCATE catalog.price',
  'DELETE FROM catalog.route',
  'DELETE FROM catalog.route_cost',
  'DELETE FROM catalog.model',
  'DELETE FROM catalog.upstream',
])('the database refuses: %s, to the service and to the owner', async (statement) => {
  await store.apply(catalog({ a: '1' }), ORIGIN);
  await expect(prisma.$executeRawUnsafe(statement)).rejects.toThrow(/permission denied/);
  const owner = createPrismaClient({ url: database.url, applicationName: 'test-owner' });
  await expect(owner.$executeRawUnsafe(statement)).rejects.toThrow(/keeps every row/);
  await owner.$disconnect();
});

test('an entry that is no longer named is disabled, and returns with its history', async () => {
  await store.apply(catalog({ a: '1', b: '2' }), ORIGIN);
  await store.apply(catalog({ b: '2' }), ORIGIN);
  expect((await store.read()).models.map(({ id, enabled }) => [id, enabled])).toEqual([
    ['a', false],
    ['b', true],
  ]);
  await store.apply(catalog({ a: '1', b: '2' }), ORIGIN);
  expect((await store.read()).models.map(({ id, enabled, price }) => [id, enabled, price.version])).toEqual([
    ['a', true, 1],
    ['b', true, 1],
  ]);
});

test('two replicas that apply at once are serial: one change, then none', async () => {
  const outcomes = await Promise.all(
    [store, new CatalogStore(other), store, new CatalogStore(other)].map((replica) => replica.apply(catalog({ a: '1', b: '2' }), ORIGIN)),
  );
  expect(outcomes.map(({ revision }) => revision)).toEqual([1, 1, 1, 1]);
  expect(outcomes.filter(({ changes }) => changes !== null)).toHaveLength(1);
  expect(await prices()).toHaveLength(2);
});

test('two different catalogs applied at once end as one of them', async () => {
  await Promise.all([store.apply(catalog({ a: '1' }), ORIGIN), new CatalogStore(other).apply(catalog({ b: '2' }), ORIGIN)]);
  const { revision, models } = await store.read();
  expect(revision).toBe(2);
  expect(models.filter(({ enabled }) => enabled)).toHaveLength(1);
});

test('a start applies its file once; a restart with the same file keeps a later apply', async () => {
  const first = 'a'.repeat(64);
  const second = 'b'.repeat(64);
  expect(await store.applyAtStart(catalog({ a: '1' }), first, ORIGIN)).toMatchObject({ revision: 1, known: false });
  await store.apply(catalog({ a: '5' }), ORIGIN);
  expect(await store.applyAtStart(catalog({ a: '1' }), first, ORIGIN)).toEqual({ revision: 2, changes: null, known: true });
  expect(await store.applyAtStart(catalog({ a: '2' }), second, ORIGIN)).toMatchObject({ revision: 3, known: false });
  expect((await store.read()).models[0]?.price).toEqual({
    version: 3,
    inputPicoUsd: 2_000_000n,
    cachedInputPicoUsd: 0n,
    outputPicoUsd: 2_000_000n,
  });
});

const texts = () => prisma.revisionText.findMany({ orderBy: { revision: 'asc' } });

test('each revision has its text; a text that changes nothing replaces that of the current revision', async () => {
  await store.apply(catalog({ a: '1' }), { ...ORIGIN, yaml: '# one' });
  await store.apply(catalog({ a: '2' }), { ...ORIGIN, yaml: '# two' });
  await store.apply(catalog({ a: '2' }), { ...ORIGIN, yaml: '# two, with another comment' });
  expect(await texts()).toEqual([
    { revision: 1, yaml: '# one' },
    { revision: 2, yaml: '# two, with another comment' },
  ]);
});

test('a change of another revision than the expected one is refused, and nothing is written', async () => {
  await store.apply(catalog({ a: '1' }), ORIGIN);
  await store.apply(catalog({ a: '2' }), { ...ORIGIN, expectedRevision: 1 });
  const stale = store.apply(catalog({ a: '3' }), { ...ORIGIN, expectedRevision: 1 });
  await expect(stale).rejects.toMatchObject({ name: 'ServiceError', code: 'conflict', param: 'expectedRevision' });
  expect((await store.read()).models.map(({ price }) => price.version)).toEqual([2]);
  expect((await store.readVersion()).revision).toBe(2);
  // Its reply was lost: the repeated apply finds nothing to change.
  expect(await store.apply(catalog({ a: '2' }), { ...ORIGIN, expectedRevision: 1 })).toEqual({ revision: 2, changes: null });
});

test('a price plan is stored, changed, disabled and found again', async () => {
  const plan = { id: 'gold', enabled: true, discountPercent: '12.5', models: [{ id: 'a', price: textPrice('7') }] };
  const cheaper = { ...plan, discountPercent: '100', models: [] };
  const withPlans = (...pricePlans: (typeof plan)[]) => ({ ...catalog({ a: '1' }), pricePlans });
  const plans = async () => (await store.read()).pricePlans;
  expect((await store.apply(withPlans(plan), ORIGIN)).changes?.pricePlans).toEqual({ added: ['gold'], changed: [], disabled: [] });
  expect(await plans()).toEqual([{ ...plan, position: 0 }]);
  expect(await store.apply(withPlans(plan), ORIGIN)).toEqual({ revision: 1, changes: null });
  await store.apply(withPlans(cheaper), ORIGIN);
  expect(await plans()).toEqual([{ ...cheaper, position: 0 }]);
  expect((await store.apply(withPlans(), ORIGIN)).changes?.pricePlans).toEqual({ added: [], changed: [], disabled: ['gold'] });
  expect(await plans()).toEqual([{ ...cheaper, enabled: false, position: 0 }]);
  expect((await store.apply(withPlans(plan), ORIGIN)).changes?.pricePlans).toEqual({ added: ['gold'], changed: [], disabled: [] });
});

function textPrice(picoUsd: string) {
  return { inputPicoUsd: picoUsd, cachedInputPicoUsd: picoUsd, outputPicoUsd: picoUsd };
}
