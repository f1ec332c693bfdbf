import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { catalogApply, UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilOffered } from '#testing/tenant.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** Tokens that an upstream writes to its cache, from its report to the hold, the bill, the usage and what clients see. */
const PRICE = {
  ...{ inputUsdPerMTok: '3', cachedInputUsdPerMTok: '0.30', outputUsdPerMTok: '15' },
  ...{ cacheWriteUsdPerMTok: '3.75', cacheWrite1hUsdPerMTok: '6' },
};
const QUESTION = 'Write this to your cache, please. [[sim tokens=4 prompt=30 cached=2 written=5 written-1h=7]]';
/** Prices of a token in pico-USD. */
const COST = 16n * 3_000_000n + 2n * 300_000n + 5n * 3_750_000n + 7n * 6_000_000n + 4n * 15_000_000n;
const USAGE = {
  ...{ promptTokens: 30, cachedTokens: 2, cacheWriteTokens: 5, cacheWrite1hTokens: 7, outputTokens: 4, reasoningTokens: 0 },
  ...{ promptSource: 'reported', outputSource: 'reported' },
};

let stack: RunningStack;
let sim: SimServer;
let administrator: Messaging;
beforeAll(async () => {
  [stack, sim] = await Promise.all([startPrivateStack(), startSimServer({ host: '127.0.0.1', port: 0 })]);
  administrator = await connectAdministrator(stack);
  const upstreams = UPSTREAM_KINDS.map((kind) => ({ id: kind, kind, baseUrl: `${sim.url}/v1`, allowPrivateNetwork: true }));
  const models = UPSTREAM_KINDS.map((kind) => ({
    ...{ id: kind, ownedBy: 'tollgate', contextTokens: 8_192, maxOutputTokens: 100, input: ['text'], price: PRICE },
    routes: [{ upstream: kind, model: 'sim-fast' }],
  }));
  await administrator.request(catalogApply, { yaml: JSON.stringify({ upstreams, models }) });
});
afterAll(async () => {
  await administrator?.close();
  await Promise.all([stack?.stop(), sim?.close()]);
});

async function newTenant(): Promise<Tenant> {
  const tenant = await createTenant(administrator);
  await untilOffered(stack.gatewayUrl, tenant.apiKey, UPSTREAM_KINDS);
  return tenant;
}

async function call({ apiKey }: Tenant, path: string, body?: object): Promise<{ id: string; reply: unknown }> {
  const response = await fetch(stack.gatewayUrl + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.status).toBe(200);
  return { id: response.headers.get('x-request-id') ?? '', reply: await response.json() };
}

const ask = (tenant: Tenant, model: string) =>
  call(tenant, '/v1/messages', { model, max_tokens: 10, messages: [{ role: 'user', content: QUESTION }] });
const billOf = (requestId: string): Promise<BilledRequest> => administrator.request(requestShow, { requestId });

test.each(UPSTREAM_KINDS)('are held at the dearest price and billed each at its own: %s', async (kind) => {
  const { id } = await ask(await newTenant(), kind);
  const { heldPicoUsd, price, settlement } = await billOf(id);
  const held = BigInt(Buffer.byteLength(QUESTION)) * 6_000_000n + 10n * 15_000_000n;
  expect({ heldPicoUsd, price, usage: settlement?.usage, costPicoUsd: settlement?.costPicoUsd }).toEqual({
    heldPicoUsd: String(held),
    price: {
      ...{ version: 1, inputPicoUsd: '3000000', cachedInputPicoUsd: '300000', outputPicoUsd: '15000000' },
      ...{ cacheWritePicoUsd: '3750000', cacheWrite1hPicoUsd: '6000000' },
    },
    usage: USAGE,
    costPicoUsd: String(COST),
  });
});

test('clients see no cache writes in a reply, and all of them in their bill and usage [messages-usage]', async () => {
  const tenant = await newTenant();
  const { id, reply } = await ask(tenant, 'anthropic-messages');
  expect(reply).toMatchObject({
    usage: { input_tokens: 28, cache_read_input_tokens: 2, cache_creation_input_tokens: 0, output_tokens: 4 },
  });
  const written = { prompt_tokens: 30, cached_tokens: 2, cache_write_tokens: 5, cache_write_1h_tokens: 7 };
  expect((await call(tenant, `/v1/requests/${id}`)).reply).toMatchObject({
    price: { input_pico_usd: '3000000', cache_write_pico_usd: '3750000', cache_write_1h_pico_usd: '6000000' },
    settlement: { usage: written, cost_pico_usd: String(COST) },
  });
  expect((await call(tenant, '/v1/usage')).reply).toMatchObject({ data: [{ requests: 1, ...written, cost_pico_usd: String(COST) }] });
  const { rows } = await administrator.request(usageQuery, { accountId: tenant.accountId, from: '2026-01-01' });
  expect(rows).toMatchObject([{ requests: 1, cacheWriteTokens: 5, cacheWrite1hTokens: 7, costPicoUsd: String(COST) }]);
});

test('a stream that breaks after content costs the writes that its upstream had reported', async () => {
  const tenant = await newTenant();
  const content = QUESTION.replace(']]', ' cut=2]]');
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'anthropic-messages', stream: true, max_tokens: 10, messages: [{ role: 'user', content }] }),
  });
  await response.text().catch(() => undefined);
  const { settlement } = await billOf(response.headers.get('x-request-id') ?? '');
  const { outputTokens, outputSource: _, ...prompt } = settlement?.usage ?? USAGE;
  expect({ reason: settlement?.reason, ...prompt }).toMatchObject({
    ...{ reason: 'failed', promptTokens: 30, cachedTokens: 2, cacheWriteTokens: 5, cacheWrite1hTokens: 7, promptSource: 'reported' },
  });
  expect(settlement?.costPicoUsd).toBe(String(COST - BigInt(4 - outputTokens) * 15_000_000n));
});
