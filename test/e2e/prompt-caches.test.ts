import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { DIALECTS } from '#contracts/dialects.js';
import { offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** Prompts that upstreams cache, and the tokens that they write: from the request to the hold, the bill, the usage and what clients see. */
const PRICE = {
  ...{ inputUsdPerMTok: '3', cachedInputUsdPerMTok: '0.30', outputUsdPerMTok: '15' },
  ...{ cacheWriteUsdPerMTok: '3.75', cacheWrite1hUsdPerMTok: '6' },
};
type UpstreamKind = (typeof UPSTREAM_KINDS)[number];
const QUESTION = 'Write this to your cache, please. [[sim tokens=4 prompt=30 cached=2 written=5 written-1h=7]]';
/** Prices of a token in pico-USD. */
const COST = 16n * 3_000_000n + 2n * 300_000n + 5n * 3_750_000n + 7n * 6_000_000n + 4n * 15_000_000n;
const USAGE = {
  ...{ promptTokens: 30, cachedTokens: 2, cacheWriteTokens: 5, cacheWrite1hTokens: 7, outputTokens: 4, reasoningTokens: 0 },
  ...{ promptSource: 'reported', outputSource: 'reported' },
};

const stack = catalogStack();
const modelAt = (kind: UpstreamKind): string => `prompt-caches-${kind}`;
const [administrator, sim] = await Promise.all([connectAdministrator(stack), startSimServer({ host: '127.0.0.1', port: 0 })]);
const newTenant = (): Promise<Tenant> => createTenant(administrator);
const entries = {
  upstreams: UPSTREAM_KINDS.map((kind) => ({
    ...{ id: modelAt(kind), kind, baseUrl: `${sim.url}/v1`, allowPrivateNetwork: true },
    ...(kind === 'openai-chat' && { capabilities: { cacheKey: 'cache_salt' } }),
  })),
  models: UPSTREAM_KINDS.map((kind) => ({
    ...{ id: modelAt(kind), ownedBy: 'tollgate', contextTokens: 131_072, maxOutputTokens: 100, input: ['text'], price: PRICE },
    routes: [{ upstream: modelAt(kind), model: 'sim-fast' }],
  })),
};
await offerModels(administrator, stack, (await newTenant()).apiKey, entries);
afterAll(async () => {
  await withdrawModels(administrator, entries);
  await Promise.all([administrator.close(), sim.close()]);
});

async function call({ apiKey }: Tenant, path: string, body?: object): Promise<{ id: string; reply: unknown }> {
  const response = await fetch(stack.gatewayUrl + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.status).toBe(200);
  return { id: response.headers.get('x-request-id') ?? '', reply: await response.json() };
}

const ask = (tenant: Tenant, kind: UpstreamKind) =>
  call(tenant, '/v1/messages', { model: modelAt(kind), max_tokens: 10, messages: [{ role: 'user', content: QUESTION }] });
const readBill = (requestId: string): Promise<BilledRequest> => administrator.request(requestShow, { requestId });

/** Gemini bills no writes. */
const WRITING_KINDS = UPSTREAM_KINDS.filter((kind) => kind !== 'gemini');

test.each(WRITING_KINDS)('are held at the dearest price and billed each at its own: %s', async (kind) => {
  const { id } = await ask(await newTenant(), kind);
  const { heldPicoUsd, price, settlement } = await readBill(id);
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
    body: JSON.stringify({ model: modelAt('anthropic-messages'), stream: true, max_tokens: 10, messages: [{ role: 'user', content }] }),
  });
  await response.text().catch(() => undefined);
  const { settlement } = await readBill(response.headers.get('x-request-id') ?? '');
  const { outputTokens, outputSource: _, ...prompt } = settlement?.usage ?? USAGE;
  expect({ reason: settlement?.reason, ...prompt }).toMatchObject({
    ...{ reason: 'failed', promptTokens: 30, cachedTokens: 2, cacheWriteTokens: 5, cacheWrite1hTokens: 7, promptSource: 'reported' },
  });
  expect(settlement?.costPicoUsd).toBe(String(COST - BigInt(4 - outputTokens) * 15_000_000n));
});

/** A conversation of an agent: a system prompt and tools of some 3,000 tokens, and one tool call with its result in each turn. */
const SYSTEM = 'You are a careful agent. '.repeat(200);
const TOOLS = Array.from({ length: 12 }, (_, index) => ({ name: `tool_${index}`, description: 'Does one thing well. '.repeat(20) }));
const SCHEMA = { type: 'object', properties: { path: { type: 'string' } } };
const TASK = 'Please read all files. [[sim cache tokens=4]]';
const makeResult = (turn: number): string => `File ${turn}: ${'some text, '.repeat(20)}`;

type Format = '/v1/chat/completions' | '/v1/responses' | '/v1/messages';

/** Bodies of the turn that follows `turns` calls, in each client format. */
const BODIES: Record<Format, (turns: number[]) => object> = {
  '/v1/chat/completions': (turns) => ({
    max_tokens: 10,
    tools: TOOLS.map((tool) => ({ type: 'function', function: { ...tool, parameters: SCHEMA } })),
    messages: [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: TASK },
      ...turns.flatMap((turn) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: `call_${turn}`, type: 'function', function: { name: 'tool_1', arguments: `{"path":"${turn}"}` } }],
        },
        { role: 'tool', tool_call_id: `call_${turn}`, content: makeResult(turn) },
      ]),
    ],
  }),
  '/v1/responses': (turns) => ({
    max_output_tokens: 16,
    instructions: SYSTEM,
    prompt_cache_key: 'session-1',
    tools: TOOLS.map((tool) => ({ type: 'function', ...tool, parameters: SCHEMA })),
    input: [
      { role: 'user', content: TASK },
      ...turns.flatMap((turn) => [
        { type: 'function_call', call_id: `call_${turn}`, name: 'tool_1', arguments: `{"path":"${turn}"}` },
        { type: 'function_call_output', call_id: `call_${turn}`, output: makeResult(turn) },
      ]),
    ],
  }),
  '/v1/messages': (turns) => ({
    max_tokens: 10,
    system: [{ type: 'text', text: SYSTEM, cache_control: { type: 'ephemeral', ttl: '1h' } }],
    tools: TOOLS.map((tool) => ({ ...tool, input_schema: SCHEMA })),
    messages: [
      { role: 'user', content: TASK },
      ...turns.flatMap((turn) => [
        { role: 'assistant', content: [{ type: 'tool_use', id: `call_${turn}`, name: 'tool_1', input: { path: String(turn) } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `call_${turn}`, content: makeResult(turn) }] },
      ]),
    ],
  }),
};
const FORMATS = Object.keys(BODIES) as Format[];
const firstTurns = (count: number): number[] => Array.from({ length: count }, (_, turn) => turn);

/** Returns the parts of a turn's prompt that its upstream has read from its cache and written to it. */
async function cachedShare(tenant: Tenant, kind: UpstreamKind, format: Format, turns: number): Promise<{ read: number; written: number }> {
  const { id } = await call(tenant, format, { model: modelAt(kind), ...BODIES[format](firstTurns(turns)) });
  const { settlement } = await readBill(id);
  const { promptTokens, cachedTokens, cacheWriteTokens = 0 } = settlement?.usage ?? USAGE;
  return { read: cachedTokens / promptTokens, written: cacheWriteTokens / promptTokens };
}

const pairs = FORMATS.flatMap((format) => UPSTREAM_KINDS.map((kind) => ({ format, kind })));

test.each(pairs)(
  'a loop of 20 turns reads nine tenths of each prompt from the cache: $format at $kind [cache-markers]',
  async ({ format, kind }) => {
    const tenant = await newTenant();
    const shares: { read: number; written: number }[] = [];
    for (const turn of firstTurns(20)) shares.push(await cachedShare(tenant, kind, format, turn));
    const [first, ...later] = shares;
    const writes = DIALECTS[kind].cachesMarked;
    expect({
      ...first,
      least: Math.min(...later.map(({ read }) => read)) >= 0.9,
      writes: later.every(({ written }) => written > 0),
    }).toEqual({
      ...{ read: 0, written: writes ? 1 : 0, least: true, writes },
    });
  },
);

test.each(pairs)('no account reads what another one has sent: $format at $kind [cache-apart]', async ({ format, kind }) => {
  const [one, other] = [await newTenant(), await newTenant()];
  const reads: number[] = [];
  for (const tenant of [one, other, one, other]) reads.push((await cachedShare(tenant, kind, format, 3)).read);
  expect(reads.map((read) => read > 0.9)).toEqual([false, false, true, true]);
  expect(reads.slice(0, 2)).toEqual([0, 0]);
});
