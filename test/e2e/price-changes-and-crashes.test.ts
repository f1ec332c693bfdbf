import { setTimeout as delay } from 'node:timers/promises';
import { holdList } from '#contracts/billing/holds.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { priceSchedule } from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** A request that is held before the date of a price is billed at the price of before, whoever settles it after the date. */

const settings = { LEASE_MS: '12000', REAPER_INTERVAL_MS: '500', REAPER_GRACE_MS: '500' };
/** Enough to hold a request before the date on a slow machine. */
const AHEAD_MS = 4_000;
/** Two leases: that of a hold begins anew when billing is back. */
const REAPED_MS = 40_000;

let running: RunningStack;
let administrator: Messaging;
let tenant: Tenant;

beforeAll(async () => {
  running = await startPrivateStack({ env: settings });
  administrator = await connectAdministrator(running);
});
beforeEach(async () => {
  tenant = await createTenant(administrator);
});
afterAll(async () => {
  await administrator?.close();
  await running?.stop();
});

function chat(directives: string, stream: boolean): Promise<Response> {
  return fetch(`${running.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: `Hello [[sim ${directives}]]` }], stream }),
    signal: AbortSignal.timeout(REAPED_MS),
  });
}

/** Returns what is billed for the request of a reply. */
const readBill = (response: Response) => administrator.request(requestShow, { requestId: response.headers.get('x-request-id') ?? '' });

async function bill(): Promise<BilledRequest> {
  const response = await chat('tokens=1', false);
  await response.arrayBuffer();
  return readBill(response);
}

async function schedule(outputUsdPerMTok: string): Promise<string> {
  const effectiveAt = new Date(Date.now() + AHEAD_MS).toISOString();
  const price = { inputUsdPerMTok: '0.30', cachedInputUsdPerMTok: '0.03', outputUsdPerMTok };
  await administrator.request(priceSchedule, { model: 'sim-fast', price, effectiveAt });
  return effectiveAt;
}

/** Expects that a request was held before the date, was settled after it, and cost something, at the price of `old`. */
function expectOldPrice(billed: BilledRequest, old: BilledRequest, effectiveAt: string): void {
  const { price, reservedAt, settlement } = billed;
  const cost = settlement && computeCost(settlement.usage, parsePrice(old.price));
  expect([price, settlement?.costPicoUsd]).toEqual([old.price, String(cost)]);
  expect([reservedAt < effectiveAt, (settlement?.settledAt ?? '') > effectiveAt, cost && cost > 0n]).toEqual([true, true, true]);
}

test('all services are killed after the date: the reaper bills the price of before', async () => {
  const old = await bill();
  const effectiveAt = await schedule('1.20');
  const response = await chat('tokens=600 rate=30', true);
  const ended = response.text().catch(() => 'broken');
  while ((await bill()).price.version === old.price.version) await delay(100);
  const services = ['gateway', 'inference-proxy', 'billing', 'catalog'] as const;
  await Promise.all(services.map((service) => running.kill(service)));
  await Promise.all([ended, ...services.map((service) => running.ready(service))]);
  await untilNoHolds(administrator, tenant.accountId, REAPED_MS);
  const billed = await readBill(response);
  expect(billed.settlement).toMatchObject({ reason: 'lease-expired', settledBy: 'reaper' });
  expectOldPrice(billed, old, effectiveAt);
});

test('a settlement that comes after the date and after the reaper has the price of before', async () => {
  const old = await bill();
  const effectiveAt = await schedule('2.40');
  const pending = chat('tokens=40 ttft=1000', false);
  while ((await administrator.request(holdList, { accountId: tenant.accountId })).holds.length === 0) await delay(5);
  await generating();
  const gateway = running.pid('gateway') as number;
  process.kill(gateway, 'SIGSTOP');
  try {
    await untilNoHolds(administrator, tenant.accountId, REAPED_MS);
  } finally {
    process.kill(gateway, 'SIGCONT');
  }
  const response = await pending;
  await response.arrayBuffer();
  const billed = await readBill(response);
  expect(billed.settlement).toMatchObject({ reason: 'completed', settledBy: 'gateway', reaped: { costPicoUsd: '0' } });
  expectOldPrice(billed, old, effectiveAt);
  expect((await bill()).price.version).toBe(old.price.version + 1);
});

/** Resolves when the upstream has an open request. A gateway that freezes before has no reply to send. */
async function generating(): Promise<void> {
  for (;;) {
    const response = await fetch(`${running.upstreamUrl}/sim/stats`);
    if (((await response.json()) as { open: number }).open > 0) return;
    await delay(5);
  }
}
