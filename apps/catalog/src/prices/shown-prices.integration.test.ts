import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '#contracts/audit.js';
import { serviceAuthor } from '#database/audit-journal.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { CatalogStore } from '../apply/catalog-store.js';
import { parseCatalogFile } from '../file/parse-catalog-file.js';
import { ScheduledPrices } from './scheduled-prices.js';
import { ShownPrices } from './shown-prices.js';

/** Prices of a moment: of an earlier revision, now, and as scheduled. */

const CALLER: Caller = { actor: 'user/7', actorName: 'Ann', via: 'panel', ip: null, requestId: null };

let database: TestDatabase;
let prisma: PrismaClient;
let store: CatalogStore;
let shown: ShownPrices;
beforeEach(async () => {
  database = await createTestDatabase();
  prisma = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test' });
  store = new CatalogStore(prisma);
  shown = new ShownPrices(prisma, store);
});
afterEach(async () => {
  await prisma.$disconnect();
  await database.drop();
});

const listed = (usd: string) => `{ inputUsdPerMTok: "${usd}", cachedInputUsdPerMTok: "0", outputUsdPerMTok: "${usd}" }`;

/** Applies a catalog, and returns a time at which it was in force. */
async function apply(usd: string, ...plans: string[]): Promise<string> {
  const model = (id: string) => `
  - id: ${id}
    ownedBy: us
    enabled: ${id !== 'off'}
    contextTokens: 1000
    maxOutputTokens: 100
    price: ${listed(usd)}
    routes: [{ upstream: local, model: ${id} }]`;
  const yaml = `upstreams: [{ id: local, kind: openai-chat, baseUrl: "\${UPSTREAM_GONE}/v1" }]
models: ${['a', 'b', 'off'].map(model).join('')}
pricePlans: [${plans.join(', ')}]
`;
  const wanted = parseCatalogFile(yaml, 'c.yaml', () => 'https://h');
  await store.apply(wanted, { author: serviceAuthor('catalog'), fileName: 'c.yaml', yaml });
  const rows = await prisma.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  await delay(2); // times have milliseconds
  return new Date((rows[0]?.now.getTime() ?? 0) + 1).toISOString();
}

const price = (picoUsd: string) => ({ inputPicoUsd: picoUsd, cachedInputPicoUsd: '0', outputPicoUsd: picoUsd });
const row = (model: string, paid: string, list: string) => ({ model, price: price(paid), list: price(list) });

test('an earlier moment has the prices of its revision, in the plan as it was', async () => {
  const before = new Date().toISOString();
  const first = await apply('1', '{ id: gold, discountPercent: 10 }');
  const second = await apply('2', `{ id: gold, discountPercent: 50, models: [{ id: b, price: ${listed('0.3')} }] }`);
  await apply('2');
  const at = (moment: string, pricePlan = 'gold') => shown.show({ pricePlan, at: moment });

  expect(await at(first)).toEqual({
    ...{ revision: 1, at: first, pricePlan: 'gold' },
    prices: [row('a', '900000', '1000000'), row('b', '900000', '1000000')],
  });
  expect(await at(second)).toEqual({
    ...{ revision: 2, at: second, pricePlan: 'gold' },
    prices: [row('a', '1000000', '2000000'), row('b', '300000', '2000000')],
  });
  expect(await shown.show({ pricePlan: 'gold' })).toEqual({
    ...{ revision: 3, at: expect.any(String), pricePlan: 'gold', planIsMissing: true },
    prices: [row('a', '2000000', '2000000'), row('b', '2000000', '2000000')],
  });
  expect((await shown.show({})).pricePlan).toBeNull();
  await expect(at(before)).rejects.toMatchObject({ code: 'not_found', message: 'The catalog had no revision at that time.' });
});

test('a later moment has the prices that are scheduled until then, less the discount', async () => {
  await apply('1', '{ id: gold, discountPercent: 10 }');
  const prices = new ScheduledPrices(prisma);
  const schedule = (usd: string, effectiveAt: string) =>
    prices.schedule(
      { model: 'a', price: { inputUsdPerMTok: usd, cachedInputUsdPerMTok: '0', outputUsdPerMTok: usd }, effectiveAt },
      CALLER,
    );
  await schedule('3', '2099-02-01');
  await schedule('2', '2099-01-01');
  const { scheduledPriceId } = await schedule('9', '2099-03-01');
  await prices.cancel(scheduledPriceId, CALLER);
  const paid = async (at?: string) => (await shown.show({ pricePlan: 'gold', ...(at !== undefined && { at }) })).prices[0];
  expect([await paid(), await paid('2098-12-31'), await paid('2099-01-01'), await paid('2099-12-31')]).toEqual([
    row('a', '900000', '1000000'),
    row('a', '900000', '1000000'),
    row('a', '1800000', '2000000'),
    row('a', '2700000', '3000000'),
  ]);
});
