import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '#contracts/audit.js';
import type { ScheduledPrice } from '#contracts/scheduled-prices.js';
import { listAudit, serviceAuthor } from '#database/audit-journal.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { type ApplyOutcome, CatalogStore } from '../apply/catalog-store.js';
import { parseCatalogFile } from '../file/parse-catalog-file.js';
import { Revisions } from '../revisions/revisions.js';
import { ScheduledPrices } from './scheduled-prices.js';

/** Scheduled prices in the tables: each is applied once, at its time, whatever happens to the replicas. */

const SERVICE = serviceAuthor('catalog');
const CALLER: Caller = { actor: 'user/7', actorName: 'Ann', via: 'panel', ip: null, requestId: null };
const [ID, OTHER_ID] = ['0190a6f0-7c1e-7000-8000-000000000001', '0190a6f0-7c1e-7000-8000-000000000002'];
const FUTURE = '2099-01-01T00:00:00.000Z';
const LATER = '2099-01-02T00:00:00.000Z';

let database: TestDatabase;
let owner: PgConnection;
let prisma: PrismaClient;
let other: PrismaClient;
let store: CatalogStore;
let prices: ScheduledPrices;

beforeEach(async () => {
  database = await createTestDatabase();
  owner = await connectPg({ url: database.url, applicationName: 'test-owner' });
  prisma = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test' });
  other = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test-other' });
  store = new CatalogStore(prisma);
  prices = new ScheduledPrices(prisma);
  await apply(renderText({ a: '1', b: '1' }));
});

afterEach(async () => {
  await Promise.all([prisma.$disconnect(), other.$disconnect(), owner.end()]);
  await database.drop();
});

function renderText(models: Record<string, string>): string {
  const entries = Object.entries(models).map(
    ([id, usd]) => `  - id: ${id}
    ownedBy: us
    enabled: ${id !== 'off'}
    contextTokens: 1000
    maxOutputTokens: 100
    price: { inputUsdPerMTok: "${usd}", cachedInputUsdPerMTok: "0", outputUsdPerMTok: "${usd}" } # of ${id}
    routes: [{ upstream: local, model: ${id} }]
`,
  );
  return `# The catalog\nupstreams: [{ id: local, kind: openai-chat, baseUrl: https://h/v1 }]\nmodels:\n${entries.join('')}`;
}

function apply(yaml: string): Promise<ApplyOutcome> {
  return store.apply(
    parseCatalogFile(yaml, 'c.yaml', () => undefined),
    { author: SERVICE, fileName: 'c.yaml', yaml },
  );
}

function schedule(
  model: string,
  usd: string,
  { id, effectiveAt = FUTURE, reason }: { id?: string; effectiveAt?: string; reason?: string } = {},
) {
  const price = { inputUsdPerMTok: usd, cachedInputUsdPerMTok: '0', outputUsdPerMTok: usd };
  return prices.schedule({ scheduledPriceId: id, model, price, effectiveAt, reason }, CALLER);
}

/** Moves all scheduled times a hundred years back, as if the time had passed. */
async function timePasses(): Promise<void> {
  await owner.query('SET session_replication_role = replica');
  await owner.query(`UPDATE catalog.scheduled_price SET effective_at = effective_at - interval '100 years'`);
  await owner.query('SET session_replication_role = DEFAULT');
}

const applyDue = (by = store) => by.applyDuePrice(SERVICE);
const readPrice = async (model: string) => (await store.read()).models.find(({ id }) => id === model)?.price;
const priced = (version: number, picoUsd: bigint) => ({
  version,
  inputPicoUsd: picoUsd,
  cachedInputPicoUsd: 0n,
  outputPicoUsd: picoUsd,
});
const rendered = (version: number, picoUsd: string) => ({
  version,
  inputPicoUsd: picoUsd,
  cachedInputPicoUsd: '0',
  outputPicoUsd: picoUsd,
});
const waiting = (id: string, model: string, picoUsd: string, effectiveAt = FUTURE): ScheduledPrice => ({
  scheduledPriceId: id,
  model,
  price: { inputPicoUsd: picoUsd, cachedInputPicoUsd: '0', outputPicoUsd: picoUsd },
  effectiveAt,
  reason: null,
  createdAt: expect.any(String) as never,
  revision: null,
  cancelledAt: null,
});

/** A price as the journal has it, whose rows have the reason apart. */
const withoutReason = ({ reason: _, ...rest }: ScheduledPrice) => rest;

test('a price waits for its time, and is then a revision whose text has it', async () => {
  await schedule('a', '2.50', { id: ID });
  expect(await applyDue()).toBeNull();
  expect(await prices.list()).toEqual([waiting(ID, 'a', '2500000')]);

  await timePasses();
  const none = { added: [], changed: [], disabled: [] };
  expect(await applyDue()).toEqual({
    revision: 2,
    changes: { models: none, upstreams: none, repriced: [{ model: 'a', before: rendered(1, '1000000'), after: rendered(2, '2500000') }] },
  });
  expect([await readPrice('a'), await readPrice('b'), await prices.list()]).toEqual([priced(2, 2_500_000n), priced(1, 1_000_000n), []]);
  expect((await new Revisions(prisma).get()).yaml).toBe(
    renderText({ a: '1', b: '1' })
      .replace(/"1", (.*) "1" } # of a/, '"2.50", $1 "2.50" } # of a')
      .replace('UsdPerMTok: "0"', 'UsdPerMTok: "0.00"'),
  );
  expect(await applyDue()).toBeNull();
});

test('the reason of a price is in the list, in the journal and in the history', async () => {
  const reason = 'the upstream is cheaper from then on';
  await schedule('a', '2', { id: ID, reason });
  expect(await prices.list()).toEqual([{ ...waiting(ID, 'a', '2000000'), reason }]);
  await timePasses();
  await applyDue();
  const { revisions } = await new Revisions(prisma).list({});
  const journal = await prisma.catalogAudit.findMany({ orderBy: { id: 'asc' }, where: { action: { startsWith: 'price.' } } });
  expect([journal.map((row) => [row.action, row.reason]), revisions[0]?.reason]).toEqual([
    [
      ['price.schedule', reason],
      ['price.apply', reason],
    ],
    reason,
  ]);
});

test('missed prices are applied in the order of their times', async () => {
  await schedule('a', '9', { effectiveAt: LATER });
  await schedule('b', '3');
  await schedule('a', '2');
  await timePasses();
  const revisions: unknown[] = [];
  for (let outcome = await applyDue(); outcome !== null; outcome = await applyDue()) {
    revisions.push([outcome.revision, outcome.changes?.repriced.map(({ model, after }) => [model, after.inputPicoUsd])]);
  }
  expect(revisions.slice(0, 2)).toEqual(
    expect.arrayContaining([
      [expect.any(Number), [['b', '3000000']]],
      [expect.any(Number), [['a', '2000000']]],
    ]),
  );
  expect(revisions[2]).toEqual([4, [['a', '9000000']]]);
});

test('replicas that apply at once apply a price once', async () => {
  await schedule('a', '2');
  await timePasses();
  const replicas = [store, new CatalogStore(other), store, new CatalogStore(other)];
  const outcomes = await Promise.all(replicas.map(applyDue));
  expect(outcomes.filter((outcome) => outcome !== null)).toHaveLength(1);
  expect([(await store.readVersion()).revision, await readPrice('a')]).toEqual([2, priced(2, 2_000_000n)]);
});

test('a replica that dies while it applies a price leaves it to another, which applies it once', async () => {
  await schedule('a', '2');
  await timePasses();
  // It has the lock of the catalog, and waits for the prices.
  await owner.query('BEGIN');
  await owner.query('LOCK TABLE catalog.price IN ACCESS EXCLUSIVE MODE');
  const dying = applyDue().catch((error: Error) => error);
  const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test' AND wait_event_type = 'Lock'`;
  while ((await owner.query(kill)).rowCount === 0) await delay(5);
  expect(await dying).toBeInstanceOf(Error);
  await owner.query('ROLLBACK');

  expect(await applyDue(new CatalogStore(other))).toMatchObject({ revision: 2 });
  expect([await applyDue(), await readPrice('a')]).toEqual([null, priced(2, 2_000_000n)]);
});

test('a file leaves scheduled prices as they are, and one applied after their time sets its own prices again', async () => {
  await schedule('a', '2');
  await apply(renderText({ a: '1', b: '7' }));
  await timePasses();
  await applyDue();
  expect(await readPrice('a')).toEqual(priced(2, 2_000_000n));
  await apply(renderText({ a: '1', b: '7' }));
  expect(await readPrice('a')).toEqual(priced(3, 1_000_000n));
});

test('a price that the model has already makes no revision, and does not wait any more', async () => {
  await schedule('a', '1', { id: ID });
  await timePasses();
  expect(await applyDue()).toEqual({ revision: 1, changes: null });
  expect([await applyDue(), await prices.list(), await readPrice('a')]).toEqual([null, [], priced(1, 1_000_000n)]);
});

test('the same id schedules one price', async () => {
  const first = await schedule('a', '2', { id: ID });
  expect(await schedule('a', '2.00', { id: ID })).toEqual(first);
  await timePasses();
  await applyDue();
  await expect(schedule('a', '2', { id: ID, effectiveAt: LATER })).rejects.toMatchObject({ code: 'conflict', param: 'scheduledPriceId' });
  expect((await prisma.scheduledPrice.findMany()).map(({ id, revision }) => [id, revision])).toEqual([[ID, 2]]);
});

test.each<[what: string, model: string, options: { effectiveAt?: string }, refusal: object]>([
  ['an unknown model', 'c', {}, { code: 'not_found', param: 'model' }],
  ['a disabled model', 'off', {}, { code: 'not_found', param: 'model' }],
  ['a time that has passed', 'a', { effectiveAt: '2026-01-01' }, { code: 'invalid_request', param: 'effectiveAt' }],
  ['a time that another price of the model has', 'b', {}, { code: 'conflict', param: 'effectiveAt' }],
])('%s is refused', async (_, model, options, refusal) => {
  await apply(renderText({ a: '1', b: '1', off: '1' }));
  await schedule('b', '2', { id: ID });
  await expect(schedule(model, '3', options)).rejects.toMatchObject({ name: 'ServiceError', ...refusal });
  expect(await prices.list()).toEqual([waiting(ID, 'b', '2000000')]);
});

test('at most a thousand prices wait', async () => {
  await owner.query('SET session_replication_role = replica');
  await owner.query(`INSERT INTO catalog.scheduled_price (id, model_id, input_price, cached_input_price, output_price, effective_at)
    SELECT gen_random_uuid(), 'b', 1, 1, 1, now() + n * interval '1 day' FROM generate_series(1, 1000) n`);
  await owner.query('SET session_replication_role = DEFAULT');
  await expect(schedule('a', '2')).rejects.toMatchObject({ code: 'conflict' });
  await prices.cancel((await prices.list())[0]?.scheduledPriceId ?? '', CALLER);
  await schedule('a', '2');
});

test('a cancelled price is never applied; a repeated cancel changes nothing, and an applied price cannot be cancelled', async () => {
  await schedule('a', '2', { id: ID });
  await schedule('b', '2', { id: OTHER_ID });
  const cancelled = await prices.cancel(ID, CALLER);
  expect(cancelled).toEqual({ ...waiting(ID, 'a', '2000000'), cancelledAt: expect.any(String) });
  expect(await prices.cancel(ID, CALLER)).toEqual(cancelled);
  await timePasses();
  expect(await applyDue()).toMatchObject({ revision: 2, changes: { repriced: [{ model: 'b' }] } });
  expect(await applyDue()).toBeNull();
  await expect(prices.cancel(OTHER_ID, CALLER)).rejects.toMatchObject({ code: 'conflict' });
  await expect(prices.cancel('0190a6f0-7c1e-7000-8000-000000000009', CALLER)).rejects.toMatchObject({ code: 'not_found' });
});

test('each change is one audit entry, and none when nothing changed', async () => {
  const scheduled = await schedule('a', '2', { id: ID });
  await schedule('a', '2', { id: ID });
  await schedule('b', '2', { id: OTHER_ID });
  const cancelled = await prices.cancel(OTHER_ID, CALLER);
  await prices.cancel(OTHER_ID, CALLER);
  await timePasses();
  await applyDue();
  const { entries } = await listAudit(prisma, 'catalog', {});
  const none = { added: [], changed: [], disabled: [] };
  const repriced = [{ model: 'a', before: rendered(1, '1000000'), after: rendered(2, '2000000') }];
  expect(entries.map(({ actor, action, target, before, after }) => ({ actor, action, target, before, after })).slice(0, -1)).toEqual([
    {
      ...{ actor: 'service/catalog', action: 'price.apply', target: 'revision/2', before: { revision: 1 } },
      after: { revision: 2, scheduledPriceId: ID, models: none, upstreams: none, repriced },
    },
    {
      ...{ actor: 'user/7', action: 'price.cancel', target: `price/${OTHER_ID}`, before: { cancelledAt: null } },
      after: { model: 'b', cancelledAt: cancelled.cancelledAt },
    },
    {
      ...{ actor: 'user/7', action: 'price.schedule', target: `price/${OTHER_ID}`, before: null },
      after: withoutReason(waiting(OTHER_ID, 'b', '2000000')),
    },
    { ...{ actor: 'user/7', action: 'price.schedule', target: `price/${ID}`, before: null }, after: withoutReason(scheduled) },
  ]);
});

test('the time until the next price is that of the soonest one that waits', async () => {
  expect(await prices.msUntilNext()).toBeNull();
  await schedule('a', '2', { effectiveAt: new Date(Date.now() + 3_600_000).toISOString() });
  await schedule('b', '2');
  expect(await prices.msUntilNext()).toBeGreaterThan(3_500_000);
  expect(await prices.msUntilNext()).toBeLessThan(3_700_000);
  await timePasses();
  expect(await prices.msUntilNext()).toBeLessThan(0);
});
