import { readFileSync } from 'node:fs';
import type { PinnedPrice } from '#contracts/billing/holds.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { catalogApply, modelList } from '#contracts/catalog.js';
import { catalogGet, catalogPlan } from '#contracts/catalog-revisions.js';
import { priceSchedule } from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';

/** A scheduled price is that of requests held after its time, and of none before. */
const AHEAD_MS = 2_000;
/** Longer than `AHEAD_MS`, so that a stream that is held before the time ends after it. */
const LONG_STREAM = '[[sim tokens=80 rate=20]]';
const OLD = { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
const NEW = { version: 2, inputPicoUsd: '300000', cachedInputPicoUsd: '30000', outputPicoUsd: '1200000' };
const DEARER = { ...NEW, version: 3, requestPicoUsd: '1000000000' };

let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;

beforeAll(async () => {
  stack = await startPrivateStack({ layout: 'split' });
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator);
});
afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
});

/** Sends a request and returns its id once its stream has ended. */
async function ask(content: string): Promise<string> {
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', stream: true, messages: [{ role: 'user', content }] }),
  });
  expect([response.status, (await response.text()).endsWith('data: [DONE]\n\n')]).toEqual([200, true]);
  return response.headers.get('x-request-id') ?? '';
}

/** Waits until the gateway has the price of that time: it asks the catalog after the schedule was answered. */
async function announced(effectiveAt: string): Promise<void> {
  let prices: { effective_at: string }[] = [];
  while (!prices.some(({ effective_at }) => effective_at === effectiveAt)) {
    const response = await fetch(`${stack.gatewayUrl}/v1/models/sim-fast`, { headers: { authorization: `Bearer ${tenant.apiKey}` } });
    prices = ((await response.json()) as { announced_prices: typeof prices }).announced_prices;
  }
}

const showBill = (requestId: string): Promise<BilledRequest> => administrator.request(requestShow, { requestId });
const bill = async (content: string): Promise<BilledRequest> => showBill(await ask(content));

function expectCost({ price, settlement }: BilledRequest, expected: PinnedPrice): void {
  expect([price, settlement?.costPicoUsd ?? null]).toEqual([
    expected,
    settlement && computeCost(settlement.usage, parsePrice(expected)).toString(),
  ]);
}

test('a scheduled price is that of requests held after its time, not of those before, which may end later [price-scheduled]', async () => {
  const effectiveAt = new Date(Date.now() + AHEAD_MS).toISOString();
  const price = { inputUsdPerMTok: '0.30', cachedInputUsdPerMTok: '0.03', outputUsdPerMTok: '1.20' };
  await administrator.request(priceSchedule, { model: 'sim-fast', price, effectiveAt });
  const long = bill(`Count ${LONG_STREAM}`);
  const bills: BilledRequest[] = [];
  while (bills.at(-1)?.price.version !== NEW.version) bills.push(await bill('Hello [[sim tokens=5]]'));
  bills.push(await bill('Hello [[sim tokens=5]]'));

  const early = bills.filter(({ reservedAt }) => reservedAt < effectiveAt);
  expect(early.length).toBeGreaterThan(0);
  for (const one of early) expectCost(one, OLD);
  for (const one of bills.slice(-2)) {
    expectCost(one, NEW);
    expect(one.reservedAt > effectiveAt).toBe(true);
  }
  const across = await long;
  expectCost(across, OLD);
  expect([across.reservedAt < effectiveAt, (across.settlement?.settledAt ?? '') > effectiveAt]).toEqual([true, true]);
});

test('a scheduled price is in force at its time while the catalog is down, and not for a request of before, after billing was killed [price-scheduled, price-pinned]', async () => {
  const effectiveAt = new Date(Date.now() + AHEAD_MS).toISOString();
  const price = { inputUsdPerMTok: '0.30', cachedInputUsdPerMTok: '0.03', outputUsdPerMTok: '1.20', requestUsd: '0.001' };
  await administrator.request(priceSchedule, { model: 'sim-fast', price, effectiveAt });
  await announced(effectiveAt);
  await stack.hold('catalog');
  const long = ask(`Count ${LONG_STREAM}`);
  const bills: BilledRequest[] = [];
  while (Date.now() <= Date.parse(effectiveAt) + 100) bills.push(await bill('Hello [[sim tokens=5]]'));
  bills.push(await bill('Hello [[sim tokens=5]]'));
  await stack.kill('billing');
  await stack.ready('billing');
  expectCost(await showBill(await long), NEW);
  expectCost(bills.at(0) as BilledRequest, NEW);
  expectCost(bills.at(-1) as BilledRequest, DEARER);
  await stack.resume('catalog');
  await stack.ready('catalog');
  while ((await administrator.request(modelList, {})).models[0]?.price.version !== DEARER.version);
  expectCost(await bill('Hello [[sim tokens=5]]'), DEARER);
});

test('the text has the scheduled price; applying the file of before sets its own price again', async () => {
  const { yaml } = await administrator.request(catalogGet, {});
  const file = readFileSync('config/catalog.yaml', 'utf8');
  expect(yaml).toBe(
    file.replace(
      'inputUsdPerMTok: "0.15", cachedInputUsdPerMTok: "0.015", outputUsdPerMTok: "0.60"',
      'inputUsdPerMTok: "0.30", cachedInputUsdPerMTok: "0.03", outputUsdPerMTok: "1.20", requestUsd: "0.001"',
    ),
  );
  expect((await administrator.request(catalogPlan, { yaml: yaml ?? '' })).changes).toBeNull();
  const { changes } = await administrator.request(catalogApply, { yaml: file });
  expect(changes?.repriced).toEqual([{ model: 'sim-fast', before: DEARER, after: { ...OLD, version: 4 } }]);
});
