import { serviceAuthor } from '#database/audit-journal.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { CatalogStore } from '../apply/catalog-store.js';
import { parseCatalogFile } from '../file/parse-catalog-file.js';
import { RouteCosts } from './route-costs.js';

/** A cost price counts from the day on which it was applied. */

let database: TestDatabase;
let prisma: PrismaClient;
let owner: PgConnection;
let store: CatalogStore;
beforeEach(async () => {
  database = await createTestDatabase();
  prisma = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test' });
  owner = await connectPg({ url: database.url, applicationName: 'test-owner' });
  store = new CatalogStore(prisma);
});
afterEach(async () => {
  await Promise.all([prisma.$disconnect(), owner.end()]);
  await database.drop();
});

const price = (usd: string) => ({ inputUsdPerMTok: `${usd}.00`, cachedInputUsdPerMTok: '0.00', outputUsdPerMTok: `${usd}.00` });

/** Applies a model with a route to each of the upstreams, at these costs. */
async function apply(costs: Record<string, string | undefined>): Promise<void> {
  const yaml = JSON.stringify({
    upstreams: ['one', 'other'].map((id) => ({ id, kind: 'openai-chat', baseUrl: 'https://h/v1' })),
    models: [
      {
        ...{ id: 'm', ownedBy: 'us', contextTokens: 1_000, maxOutputTokens: 100, price: price('9') },
        routes: Object.entries(costs).map(([upstream, usd]) => ({ upstream, model: 'm', ...(usd && { cost: price(usd) }) })),
      },
    ],
  });
  const wanted = parseCatalogFile(yaml, 'c.yaml', () => undefined);
  await store.apply(wanted, { author: serviceAuthor('catalog'), fileName: 'c.yaml', yaml });
}

/** Moves what was applied today to another day. */
async function backdate(day: string): Promise<void> {
  await owner.query(`SET session_replication_role = replica`);
  await owner.query(`UPDATE catalog.route_cost SET from_day = $1 WHERE from_day = (SELECT max(from_day) FROM catalog.route_cost)`, [day]);
}

const list = (month: string) => new RouteCosts(prisma).list(month);
const cost = (upstream: string, fromDay: string, usd?: string) => ({ model: 'm', upstream, fromDay, ...(usd && { price: price(usd) }) });

test('a month has the cost prices that count on one of its days', async () => {
  await apply({ one: '1', other: '5' });
  await backdate('2026-05-20');
  await apply({ one: '2', other: '5' });
  await backdate('2026-06-01');
  await apply({ one: '3', other: '5' });
  await backdate('2026-06-30');
  expect(await list('2026-06')).toEqual([cost('one', '2026-06-01', '2'), cost('one', '2026-06-30', '3'), cost('other', '2026-05-20', '5')]);
  expect(await list('2026-05')).toEqual([cost('one', '2026-05-20', '1'), cost('other', '2026-05-20', '5')]);
  expect(await list('2026-04')).toEqual([]);
});

test('the last apply of a day counts', async () => {
  await apply({ one: '1' });
  await apply({ one: '2' });
  await backdate('2026-06-02');
  expect(await list('2026-06')).toEqual([cost('one', '2026-06-02', '2')]);
});

test('a cost that the file no longer has is no longer known; that of a route that left the file is', async () => {
  await apply({ one: '1', other: '1' });
  await backdate('2026-06-02');
  await apply({ one: undefined });
  await backdate('2026-06-03');
  expect(await list('2026-06')).toEqual([cost('one', '2026-06-02', '1'), cost('one', '2026-06-03'), cost('other', '2026-06-02', '1')]);
});

test('an apply that changes no cost writes none', async () => {
  await apply({ one: '1', other: undefined });
  await backdate('2026-06-02');
  await apply({ one: '1' });
  await apply({ one: '1', other: undefined });
  expect(await list('2026-06')).toEqual([cost('one', '2026-06-02', '1')]);
});
