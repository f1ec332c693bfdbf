import { holdList } from '#contracts/billing/holds.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** Seconds instead of minutes, so that leases expire within the test. */
const settings = { LEASE_MS: '3000', REAPER_INTERVAL_MS: '500', REAPER_GRACE_MS: '1000' };
const services = ['gateway', 'inference-proxy', 'billing', 'catalog', 'upstream-sim', 'nats', 'postgres'] as const;
/** Services that a running stream does not need: its client must not notice their death. */
const offTheWay = new Set<string>(['billing', 'catalog', 'postgres']);
const REQUESTS = 12;

let running: RunningStack;
let administrator: Messaging;
let tenant: Tenant;

beforeAll(async () => {
  running = await startPrivateStack({ layout: 'split', env: settings, durable: true });
  administrator = await connectAdministrator(running);
  tenant = await createTenant(administrator, { usd: '100.00' });
});
afterAll(async () => {
  await administrator?.close();
  await running?.stop();
});

function chat(content: string, stream: boolean): Promise<Response> {
  return fetch(`${running.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content }], stream }),
    signal: AbortSignal.timeout(30_000),
  });
}

/** Resolves to true for a complete reply, to false for an error or a broken connection. */
async function whole(content: string, stream: boolean): Promise<boolean> {
  try {
    const response = await chat(content, stream);
    const text = await response.text();
    return response.status === 200 && (!stream || text.endsWith('data: [DONE]\n\n'));
  } catch {
    return false;
  }
}

async function untilServed(): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await whole('Hello [[sim tokens=3]]', false))) {
    if (Date.now() > deadline) throw new Error('no request succeeds again');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test('a plain reply that takes longer than a lease and than a NATS request arrives [T-50]', async () => {
  expect(await whole('Hello [[sim tokens=14 rate=2]]', false)).toBe(true);
});

test.each(services)('after kill -9 of %s the others keep running, requests succeed again, and no hold is left', async (name) => {
  const others = services.filter((other) => other !== name);
  const before = others.map((other) => running.pid(other));
  let ended = 0;
  const underWay = Array.from({ length: REQUESTS }, async (_, index) => {
    const isWhole = await whole('Hello [[sim tokens=60 rate=40]]', index % 2 === 0);
    ended += 1;
    return isWhole;
  });
  // On a slow machine the first may end before the last has started.
  while ((await administrator.request(holdList, { accountId: tenant.accountId })).holds.length + ended < REQUESTS);

  await running.kill(name);
  await running.ready(name);
  const outcomes = await Promise.all(underWay);
  if (offTheWay.has(name)) expect(outcomes).toEqual(outcomes.map(() => true));
  await untilServed();

  expect(others.map((other) => running.pid(other))).toEqual(before);
  await untilNoHolds(administrator, tenant.accountId, 20_000);
  expect(await whole('Hello again [[sim tokens=10]]', true)).toBe(true);
  const balance = await readBalance(running.gatewayUrl, tenant.apiKey);
  expect({ reserved: balance.reserved_pico_usd, available: balance.available_pico_usd }).toEqual({
    reserved: '0',
    available: balance.balance_pico_usd,
  });
});
