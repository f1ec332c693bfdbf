import { connect, JSONCodec, type NatsConnection } from 'nats';
import { budgetSet, budgetValues } from '#contracts/billing/budgets.js';
import { childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { keyCreate } from '#contracts/billing/keys.js';
import { requestShow } from '#contracts/billing/requests.js';
import { type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import type { ItemRenewReply, ItemReserveReply } from '#contracts/items.js';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** A service with items of its own, on the catalog of the repository: `crawler` bills pages at $0.002. */

const codec = JSONCodec<unknown>();
let service: NatsConnection;
let administrator: Messaging;
let customer: Tenant;

beforeAll(async () => {
  const { natsUrl: servers, natsPasswords } = stack();
  service = await connect({ servers, user: 'crawler', pass: natsPasswords.crawler, inboxPrefix: '_INBOX.service.crawler' });
  administrator = await connectAdministrator(stack());
  customer = await createTenant(administrator, { usd: '1' });
});
afterAll(() => Promise.all([service.close(), administrator.close()]));

/** Balance and what of it is available, in pico-USD. */
async function readMoney({ apiKey }: Tenant): Promise<[balance: string, available: string]> {
  const { balance_pico_usd: balance, available_pico_usd: available } = await readBalance(stack().gatewayUrl, apiKey);
  return [balance, available];
}

async function readUsage({ accountId }: Tenant): Promise<UsageRow[]> {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  return (await administrator.request(usageQuery, { accountId, from, groupBy: ['model'] })).rows;
}

let made = 0;
function makeHoldId(at = Date.now()): string {
  const time = at.toString(16).padStart(12, '0');
  made += 1;
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${(process.pid * 100_000 + made).toString(16).padStart(12, '0')}`;
}

async function ask<Reply>(act: string, request: object): Promise<Reply> {
  const reply = await service.request(`gateway.v1.item.${act}.by.crawler`, codec.encode(request), { timeout: 10_000 });
  return codec.decode(reply.data) as Reply;
}

const reserve = (request: object) => ask<ItemReserveReply>('reserve', { keyId: customer.keyId, item: 'page', ...request });

test('a crawl is held, renewed and charged for the pages that it used', async () => {
  const holdId = makeHoldId();
  const held = await reserve({ holdId, quantityMax: 100, attribution: { session: 'crawl-1' } });
  const { accountId } = customer;
  expect(held).toEqual({
    ...{ status: 'held', holdId, accountId, unit: 'page', unitPicoUsd: '2000000000', priceVersion: 1, heldPicoUsd: '200000000000' },
    leaseMs: expect.any(Number),
  });
  expect(await reserve({ holdId, quantityMax: 100, attribution: { session: 'crawl-1' } })).toEqual(held);
  expect(await readMoney(customer)).toEqual(['1000000000000', '800000000000']);
  expect(await ask<ItemRenewReply>('renew', { holdId, quantity: 20 })).toEqual({ status: 'renewed', holdId, stop: false });
  expect(await ask('settle', { holdId, accountId, quantity: 30 })).toEqual({ status: 'settled', holdId, costPicoUsd: '60000000000' });
  expect(await ask('settle', { holdId, accountId, quantity: 31 })).toEqual({ status: 'already', holdId, costPicoUsd: '60000000000' });
  expect(await ask<ItemRenewReply>('renew', { holdId, quantity: 40 })).toEqual({ status: 'ended', holdId, stop: false });
  expect(await readMoney(customer)).toEqual(['940000000000', '940000000000']);
  expect(await readUsage(customer)).toEqual([
    expect.objectContaining({
      model: 'crawler/page',
      requests: 1,
      quantity: 30,
      promptTokens: 0,
      outputTokens: 0,
      costPicoUsd: '60000000000',
    }),
  ]);
});

test('a client’s key may pay, if its list of models has the item', async () => {
  const holdId = makeHoldId();
  expect(await reserve({ holdId, keyId: undefined, apiKey: customer.apiKey, quantityMax: 1 })).toMatchObject({ status: 'held' });
  await ask('release', { holdId, accountId: customer.accountId });
  const { keyId: other } = await administrator.request(keyCreate, { projectId: customer.projectId, models: ['sim-*'] });
  expect(await reserve({ holdId: makeHoldId(), keyId: other, quantityMax: 1 })).toMatchObject({ code: 'not_found', param: 'item' });
  expect(await reserve({ holdId: makeHoldId(), keyId: makeHoldId(), quantityMax: 1 })).toMatchObject({ code: 'invalid_api_key' });
});

test.each([
  ['more than the service may hold', () => ({ quantityMax: 501 }), 'invalid_request', 'quantityMax'],
  ['an item that the service does not have', () => ({ item: 'search', quantityMax: 1 }), 'not_found', 'item'],
  ['an id of another day', () => ({ holdId: makeHoldId(Date.now() - 90_000_000), quantityMax: 1 }), 'invalid_request', 'holdId'],
  ['an id that is no UUID v7', () => ({ holdId: '0190a6f0-7c1e-4000-8000-000000000001', quantityMax: 1 }), 'invalid_request', 'holdId'],
  ['no key', () => ({ keyId: undefined, quantityMax: 1 }), 'invalid_request', 'keyId'],
])('%s is refused', async (_, request, code, param) => {
  expect(await reserve({ holdId: makeHoldId(), ...request() })).toMatchObject({ code, param });
});

test('a child key pays for items within its limit and those above it, has its tags, and stops when it is revoked', async () => {
  const { accountId, keyId } = customer;
  const budget = { accountId, keyId, dimension: 'child', period: 'total', limitPicoUsd: '20000000000' } as const;
  const { budgetId } = await administrator.request(budgetSet, budget);
  const top = await administrator.request(childKeyMint, { keyId, seconds: 600, limitPicoUsd: '10000000000', tags: { team: 'search' } });
  const below = await mintBelow(top.key);
  const pay = (apiKey: string, quantityMax: number, attribution?: object) =>
    reserve({ holdId: makeHoldId(), keyId: undefined, apiKey, quantityMax, attribution });
  const first = await pay(below.key, 2, { session: 'crawl-2', 'tag:team': 'other' });
  expect(first.status).toBe('held');
  expect(await pay(below.key, 2)).toMatchObject({ code: 'insufficient_balance', budget: { dimension: 'child', value: below.id } });
  const second = await pay(top.key, 3);
  expect(second.status).toBe('held');
  expect(await pay(top.key, 1)).toMatchObject({ code: 'insufficient_balance', budget: { dimension: 'child', value: top.childId } });
  await ask('settle', { holdId: first.holdId, accountId, quantity: 2 });
  expect(await administrator.request(requestShow, { requestId: first.holdId })).toMatchObject({
    attribution: { child: below.id, session: 'crawl-2', 'tag:team': 'search' },
  });
  await administrator.request(childKeyRevoke, { keyId, childId: top.childId });
  expect(await ask<ItemRenewReply>('renew', { holdId: second.holdId, quantity: 1 })).toMatchObject({ status: 'renewed', stop: true });
  expect(await pay(below.key, 1)).toMatchObject({ code: 'invalid_api_key' });
  await ask('settle', { holdId: second.holdId, accountId, quantity: 1 });
  const { values } = await administrator.request(budgetValues, { accountId, budgetId });
  expect(values.map(({ spentPicoUsd, heldPicoUsd }) => [spentPicoUsd, heldPicoUsd])).toEqual([
    ['6000000000', '0'],
    ['4000000000', '0'],
  ]);
});

/** A child key of a child key, with a limit of $0.005. */
async function mintBelow(key: string): Promise<{ id: string; key: string }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ budget_usd: '0.005' });
  const response = await fetch(`${stack().gatewayUrl}/v1/key/children`, { method: 'POST', headers, body });
  return (await response.json()) as { id: string; key: string };
}

test('a service names no child key and no verdict of a policy itself', async () => {
  const child = `${Math.floor(Date.now() / 1_000) + 600}-0000000000000001`;
  for (const attribution of [{ child }, { 'policy-verdict': 'allowed' }])
    expect(await reserve({ holdId: makeHoldId(), quantityMax: 1, attribution })).toMatchObject({
      ...{ code: 'invalid_request', param: 'attribution' },
    });
});

test('a service and agents on one balance: no pico-dollar above it, none lost, none left on hold', async () => {
  const shared = await createTenant(administrator, { usd: '0.05' });
  const agent = async (index: number): Promise<void> => {
    const body = JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: `Hello ${index}` }], max_tokens: 64 });
    const headers = { authorization: `Bearer ${shared.apiKey}`, 'content-type': 'application/json' };
    const response = await fetch(`${stack().gatewayUrl}/v1/chat/completions`, { method: 'POST', headers, body });
    await response.text();
    expect([200, 402, 429]).toContain(response.status);
  };
  let charged = 0n;
  const crawl = async (index: number): Promise<void> => {
    const holdId = makeHoldId();
    const { accountId } = shared;
    const held = await reserve({ holdId, keyId: shared.keyId, quantityMax: 1 + (index % 5) });
    if (held.status !== 'held') return;
    const { costPicoUsd } = await ask<{ costPicoUsd: string }>('settle', { holdId, accountId, quantity: index % 4 });
    charged += BigInt(costPicoUsd);
  };
  await Promise.all(Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? agent(index) : crawl(index))));
  await untilNoHolds(administrator, shared.accountId);
  const [balance, available] = await readMoney(shared);
  expect(available).toBe(balance);
  const usage = await readUsage(shared);
  const sum = (rows: readonly UsageRow[]): bigint => rows.reduce((total, row) => total + BigInt(row.costPicoUsd), 0n);
  expect(sum(usage.filter(({ model }) => model === 'crawler/page'))).toBe(charged);
  expect(BigInt(balance)).toBe(50_000_000_000n - sum(usage));
  expect(BigInt(balance)).toBeGreaterThanOrEqual(0n);
});
