import type { UsageMarginReply } from '#contracts/billing/margin.js';
import { offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, untilNoHolds } from '#testing/tenant.js';
import { collectRun } from '../../apps/cli/test/collect-run.js';
import { startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** The cost price of a route, from the catalog to the margin of a month. */

const stack = catalogStack();
const [administrator, sim] = await Promise.all([connectAdministrator(stack), startSimServer({ host: '127.0.0.1', port: 0 })]);
const { apiKey, accountId } = await createTenant(administrator);
const priced = {
  ...{ ownedBy: 'tollgate', contextTokens: 131_072, maxOutputTokens: 100 },
  price: { inputUsdPerMTok: '3', cachedInputUsdPerMTok: '0.3', outputUsdPerMTok: '15' },
};
const STEP = { above: 500, inputUsdPerMTok: '2', cachedInputUsdPerMTok: '0.2' };
const COST = { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '4', requestUsd: '0.001', steps: [STEP] };
const entries = {
  upstreams: [{ id: 'margins', kind: 'openai-chat', baseUrl: `${sim.url}/v1`, allowPrivateNetwork: true }],
  models: [
    { id: 'margin-paid', ...priced, routes: [{ upstream: 'margins', model: 'sim-fast', cost: COST }] },
    { id: 'margin-unpriced', ...priced, routes: [{ upstream: 'margins', model: 'sim-fast' }] },
  ],
};
await offerModels(administrator, stack, apiKey, entries);
afterAll(async () => {
  await withdrawModels(administrator, entries);
  await Promise.all([administrator.close(), sim.close()]);
});

const get = (path: string) => fetch(stack.gatewayUrl + path, { headers: { authorization: `Bearer ${apiKey}` } });

/** Returns the prompt tokens of a request with two output tokens. */
async function ask(model: string, length = 0): Promise<bigint> {
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi [[sim tokens=2]] '.padEnd(length, 'a') }] }),
  });
  const { usage } = (await response.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
  expect(usage.completion_tokens).toBe(2);
  return BigInt(usage.prompt_tokens);
}

async function margin(...args: string[]): Promise<UsageMarginReply> {
  const { code, out, err } = await collectRun(['margin', ...args, '--json'], () => connectAdministrator(stack));
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as UsageMarginReply;
}

test('a month has the exact margin of its requests, and says which have no cost price', async () => {
  const [small, large, other] = [await ask('margin-paid'), await ask('margin-paid', 4_000), await ask('margin-unpriced')];
  expect(large).toBeGreaterThan(500n);
  await untilNoHolds(administrator, accountId);
  const charged = (tokens: bigint): bigint => tokens * 3_000_000n + 2n * 15_000_000n;
  const cost = small * 1_000_000n + large * 2_000_000n + 2n * (2n * 4_000_000n + 1_000_000_000n);
  const row = (requests: number, charged: bigint, cost: bigint) => ({
    ...{ requests, chargedPicoUsd: String(charged), costPicoUsd: String(cost), marginPicoUsd: String(charged - cost) },
  });
  const none = { unpricedRequests: 0, unpricedChargedPicoUsd: '0' };
  const unpriced = { unpricedRequests: 1, unpricedChargedPicoUsd: String(charged(other)) };
  const paid = charged(small) + charged(large);
  const { rows } = await margin();
  expect(rows.filter(({ model }) => model?.startsWith('margin-'))).toEqual([
    { model: 'margin-paid', ...row(2, paid, cost), ...none },
    { model: 'margin-unpriced', ...row(1, charged(other), 0n), ...unpriced },
  ]);
  expect((await margin('--by', 'account')).rows.find((found) => found.accountId === accountId)).toEqual({
    ...{ accountId, name: expect.any(String), ...row(3, paid + charged(other), cost), ...unpriced },
  });
});

test('customers do not see a cost price', async () => {
  const replies = await Promise.all(['/v1/models', '/v1/models/margin-paid'].map(async (path) => (await get(path)).text()));
  expect(replies[0]).toContain('margin-paid');
  for (const reply of replies) expect(reply).not.toMatch(/"cost|0\.001/);
});
