import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { parsePrice } from '#money/price-plan.js';
import { costByToken } from '#testing/cost-by-token.js';
import { offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';
import { startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** A price with steps, tiers, cache writes and a price of the request: from the upstream's report to the bill that clients and operators see. */
const PRICE = {
  ...{ inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.10', outputUsdPerMTok: '4', requestUsd: '0.000007' },
  ...{ cacheWriteUsdPerMTok: '1.25', cacheWrite1hUsdPerMTok: '2' },
  steps: [
    {
      ...{ above: 20, reprices: 'excess', inputUsdPerMTok: '2', cachedInputUsdPerMTok: '0.20' },
      ...{ cacheWriteUsdPerMTok: '2.50', cacheWrite1hUsdPerMTok: '4' },
    },
    { above: 30, inputUsdPerMTok: '3', cachedInputUsdPerMTok: '0.30', outputUsdPerMTok: '8' },
  ],
  tiers: [
    {
      ...{ tier: 'flex', inputUsdPerMTok: '0.50', cachedInputUsdPerMTok: '0.05', outputUsdPerMTok: '2' },
      steps: [{ above: 20, inputUsdPerMTok: '0.60', cachedInputUsdPerMTok: '0.06' }],
    },
  ],
};
const OUTPUT_TOKENS_MAX = 10;

type UpstreamKind = (typeof UPSTREAM_KINDS)[number];
const stack = catalogStack();
const modelAt = (kind: UpstreamKind): string => `price-rules-${kind}`;
const [administrator, sim] = await Promise.all([connectAdministrator(stack), startSimServer({ host: '127.0.0.1', port: 0 })]);
const { apiKey } = await createTenant(administrator);
const entries = {
  upstreams: UPSTREAM_KINDS.map((kind) => ({ id: modelAt(kind), kind, baseUrl: `${sim.url}/v1`, allowPrivateNetwork: true })),
  models: UPSTREAM_KINDS.map((kind) => ({
    ...{ id: modelAt(kind), ownedBy: 'tests', contextTokens: 131_072, maxOutputTokens: 100, input: ['text'], price: PRICE },
    routes: [{ upstream: modelAt(kind), model: 'sim-fast' }],
  })),
};
await offerModels(administrator, stack, apiKey, entries);
afterAll(async () => {
  await withdrawModels(administrator, entries);
  await Promise.all([administrator.close(), sim.close()]);
});

const call = (path: string, body?: object): Promise<Response> =>
  fetch(stack.gatewayUrl + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

const question = (directives: string): string => `How much is this? [[sim tokens=4 ${directives}]]`;

async function ask(directives: string, kind: UpstreamKind = 'openai-chat', stream = false): Promise<string> {
  const messages = [{ role: 'user', content: question(directives) }];
  const response = await call('/v1/chat/completions', { model: modelAt(kind), max_tokens: OUTPUT_TOKENS_MAX, stream, messages });
  expect(response.status).toBe(200);
  await response.text().catch(() => undefined);
  return response.headers.get('x-request-id') ?? '';
}

const readBill = (requestId: string): Promise<BilledRequest> => administrator.request(requestShow, { requestId });

/** Returns the lines of `request show` on what was paid, by their names. */
async function showPaid(requestId: string): Promise<Record<string, string>> {
  const written: string[] = [];
  const write = (text: string): void => void written.push(text);
  expect(await runCli(['request', 'show', requestId], { writeOut: write, writeErr: write }, () => connectAdministrator(stack))).toBe(0);
  const lines = written.join('').split('\n');
  return Object.fromEntries(lines.flatMap((line) => [/^(cost|tier|step) +(.*)$/.exec(line)?.slice(1) ?? []]).filter(([name]) => name));
}

const FLEX = 'flex, as the upstream reported';
const UNPRICED = 'scale, as the upstream reported; the price does not name it';
const ABOVE_20 = 'above 20 tokens of prompt';
const ABOVE_30 = 'above 30 tokens of prompt';

test.each<[directives: string, costPicoUsd: bigint, sum: string, applied: { tier?: string; step?: string }]>([
  ['prompt=19', 42_000_000n, '19 × $1.00 + 4 × $4.00', {}],
  ['prompt=20', 43_000_000n, '20 × $1.00 + 4 × $4.00', {}],
  ['prompt=21', 45_000_000n, '20 × $1.00 + 1 × $2.00 above 20 + 4 × $4.00', { step: ABOVE_20 }],
  ['prompt=29', 61_000_000n, '20 × $1.00 + 9 × $2.00 above 20 + 4 × $4.00', { step: ABOVE_20 }],
  ['prompt=30', 63_000_000n, '20 × $1.00 + 10 × $2.00 above 20 + 4 × $4.00', { step: ABOVE_20 }],
  ['prompt=31', 132_000_000n, '31 × $3.00 above 30 + 4 × $8.00 above 30', { step: ABOVE_30 }],
  ['prompt=20 tier=flex', 25_000_000n, '20 × $0.50 + 4 × $2.00', { tier: FLEX }],
  ['prompt=21 tier=flex', 27_600_000n, '21 × $0.60 above 20 + 4 × $2.00', { tier: FLEX, step: ABOVE_20 }],
  ['prompt=21 tier=scale', 45_000_000n, '20 × $1.00 + 1 × $2.00 above 20 + 4 × $4.00', { tier: UNPRICED, step: ABOVE_20 }],
  ['prompt=21 tier=default', 45_000_000n, '20 × $1.00 + 1 × $2.00 above 20 + 4 × $4.00', { step: ABOVE_20 }],
  [
    'prompt=22 cached=2 written-1h=14 written=5',
    60_700_000n,
    '1 × $2.00 above 20 + 2 × $0.10 + 4 × $1.25 + 1 × $2.50 above 20 + 14 × $2.00 + 4 × $4.00',
    { step: ABOVE_20 },
  ],
])(
  '%s: the client and the operator see the same cost, and the step and tier that it is of [price-exact, price-shown]',
  async (directives, cost, sum, applied) => {
    const id = await ask(directives);
    const { heldPicoUsd } = await readBill(id);
    expect(BigInt(heldPicoUsd)).toBe(BigInt(Buffer.byteLength(question(directives))) * 3_000_000n + 10n * 8_000_000n + 7_000_000n);
    expect(BigInt(heldPicoUsd)).toBeGreaterThanOrEqual(cost);
    const shown = (await (await call(`/v1/requests/${id}`)).json()) as { settlement: { tier: string | null; step: number | null } };
    expect(shown).toMatchObject({
      held_pico_usd: heldPicoUsd,
      settlement: {
        ...{ cost_pico_usd: `${cost}`, tier: applied.tier?.split(',')[0] ?? null },
        step: applied.step ? Number(/\d+/.exec(applied.step)?.[0]) : null,
      },
    });
    const { cost: paid, ...others } = await showPaid(id);
    expect(others).toEqual(applied);
    expect(paid).toMatch(`${sum} per million tokens + $0.000007 a request = `);
    expect(paid).toMatch(`(${cost} pico)`);
  },
);

test.each(UPSTREAM_KINDS)('the tier that %s reports is the one that is billed, plain and streamed [price-tier]', async (kind) => {
  for (const stream of [false, true]) {
    const { settlement } = await readBill(await ask('prompt=21 tier=flex', kind, stream));
    expect([settlement?.usage.tier, settlement?.step, settlement?.costPicoUsd]).toEqual(['flex', 20, '27600000']);
  }
});

test('a stream that breaks off is billed in the tier that its upstream had named [price-tier]', async () => {
  const { price, settlement } = await readBill(await ask('tier=flex cut=2', 'openai-chat', true));
  expect(settlement).toMatchObject({ reason: 'failed', usage: { tier: 'flex', promptSource: 'estimated', outputTokens: 2 } });
  expect(settlement?.costPicoUsd).toBe(settlement && `${costByToken(settlement.usage, parsePrice(price))}`);
});
