import { readFileSync } from 'node:fs';
import pg from 'pg';
import { parse } from 'yaml';
import type { Messaging } from '#messaging/messaging.js';
import { type BillableUsage, costOf, type Price, parseUsdPerMillionTokens } from '#money/price.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** Many requests of every kind at once: whatever they were and however they ended, no pico-dollar is lost or made. */
const REQUESTS = 300;
const LEAVERS = 100;
const AT_ONCE = 24;

const { gatewayUrl, databaseUrl } = stack();
const prices = readPrices('config/catalog.yaml');

let administrator: Messaging;
let database: pg.Client;
beforeAll(async () => {
  administrator = await connectAdministrator(stack());
  database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await administrator?.close();
});

interface ChatRequest {
  model: string;
  stream: boolean;
  [field: string]: unknown;
}

interface Settled {
  request_id: string;
  model: string;
  reason: string;
  cost: bigint;
  over: bigint;
  usage: BillableUsage;
  prompt_source: string | null;
  output_source: string | null;
}

test(`${REQUESTS} requests of every kind, ${AT_ONCE} at a time, cost exactly the usage they report`, async () => {
  const random = randomFrom(20_261_121);
  const tenant = await createTenant(administrator, { usd: '100.00' });
  const requests = Array.from({ length: REQUESTS }, (_, index) => anyRequest(random, index));
  const before = BigInt((await readBalance(gatewayUrl, tenant.apiKey)).balance_pico_usd);

  const costs = new Map<string, bigint>();
  await inParallel(requests, async (request) => {
    const { requestId, usage } = await run(tenant, request);
    costs.set(requestId, costOf(usage, priceOf(request.model)));
  });

  const total = [...costs.values()].reduce((sum, cost) => sum + cost, 0n);
  const after = await readBalance(gatewayUrl, tenant.apiKey);
  expect({ spent: before - BigInt(after.balance_pico_usd), reserved: after.reserved_pico_usd }).toEqual({ spent: total, reserved: '0' });
  const settled = await settlements(tenant);
  expect(new Map(settled.map(({ request_id, cost }) => [request_id, cost]))).toEqual(costs);
  const asReported = { reason: 'completed', prompt_source: 'reported', output_source: 'reported', over: 0n };
  expect(settled).toEqual(settled.map((row) => ({ ...row, ...asReported })));
  // The mixture was one: a free request would hide a mistake, and so would a single price.
  expect(new Set(costs.values()).size).toBeGreaterThan(REQUESTS / 4);
});

test(`${LEAVERS} clients that leave at any moment pay what the ledger says, and leave nothing held`, async () => {
  const random = randomFrom(7);
  const tenant = await createTenant(administrator, { usd: '100.00' });
  const before = BigInt((await readBalance(gatewayUrl, tenant.apiKey)).balance_pico_usd);

  const seen = new Map<string, number>();
  await inParallel(Array.from({ length: LEAVERS }), async (_, index) => {
    const content = `leave ${index} [[sim tokens=4000 rate=${pick(random, [400, 2000])} ttft=${pick(random, [0, 0, 60])}]]`;
    const request = { model: pick(random, ['sim-fast', 'sim-reason']), stream: true, messages: [{ role: 'user', content }] };
    const { requestId, tokens } = await leaveAfter(tenant, request, Math.floor(random() * 180));
    if (requestId) seen.set(requestId, tokens);
  });
  await untilNoHolds(administrator, tenant.accountId);

  const settled = await settlements(tenant);
  const after = await readBalance(gatewayUrl, tenant.apiKey);
  const total = settled.reduce((sum, { cost }) => sum + cost, 0n);
  expect({
    spent: before - BigInt(after.balance_pico_usd),
    reserved: after.reserved_pico_usd,
    available: after.available_pico_usd,
  }).toEqual({
    spent: total,
    reserved: '0',
    available: after.balance_pico_usd,
  });
  expect(new Set(settled.map(({ reason }) => reason))).toEqual(new Set(['client-disconnected']));
  // Who has seen tokens has paid for at least those; who was sent nothing has paid for no more than the prompt.
  for (const { request_id, model, usage, cost } of settled) {
    expect({ request_id, cost }).toEqual({ request_id, cost: costOf(usage, priceOf(model)) });
    expect({ request_id, short: usage.outputTokens < (seen.get(request_id) ?? 0) }).toEqual({ request_id, short: false });
  }
  expect(total).toBeGreaterThan(0n);
  expect(settled.length).toBeGreaterThan(LEAVERS / 2);
});

/** One of many kinds; the simulator reports usage by its own rule, or as the directive says. */
function anyRequest(random: () => number, index: number): ChatRequest {
  const between = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1));
  const stream = random() < 0.5;
  const kind = pick(random, ['words', 'cached', 'odd', 'cut-off', 'tool', 'json', 'reasoning', 'image', 'stop', 'tiny']);
  const words = 'price '.repeat(between(0, 60));
  const directives: Record<string, string> = {
    words: `tokens=${between(1, 90)}`,
    cached: `tokens=${between(1, 40)} cached=${between(1, 60)}`,
    odd: `tokens=5 prompt=${between(0, 99)} completion=${between(0, 999)}`,
    'cut-off': `tokens=${between(50, 90)} chunk=3`,
    reasoning: `reasoning=${between(0, 80)} tokens=${between(0, 30)} unicode`,
    image: `tokens=${between(1, 20)}`,
    tiny: `tokens=${between(1, 200)}`,
  };
  const text = `${index} ${words}${kind === 'tool' ? 'call weigh {"kilograms": 12345678901234567890}' : ''} ${directives[kind] ? `[[sim ${directives[kind]}]]` : ''}`;
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.from(`png ${index}`).toString('base64')}` } };
  return {
    model: { reasoning: 'sim-reason', image: 'sim-vision', tiny: 'sim-tiny' }[kind] ?? 'sim-fast',
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    messages: [{ role: 'user', content: kind === 'image' ? [{ type: 'text', text }, image] : text }],
    ...(kind === 'odd' ? { max_tokens: 1000 } : {}),
    ...(kind === 'cut-off' ? { max_tokens: between(1, 49) } : {}),
    ...(kind === 'tool' ? { tools: [{ type: 'function', function: { name: 'weigh', parameters: { type: 'object' } } }] } : {}),
    ...(kind === 'json' ? { response_format: { type: 'json_object' } } : {}),
    ...(kind === 'stop' ? { stop: ['a', 'zz'] } : {}),
  };
}

function post(tenant: Tenant, request: ChatRequest, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: signal ?? null,
  });
}

/** What the reply itself says was used: the figures a customer would check a bill with. */
async function run(tenant: Tenant, request: ChatRequest): Promise<{ requestId: string; usage: BillableUsage }> {
  const response = await post(tenant, request);
  const text = await response.text();
  if (response.status !== 200 || (request.stream && !text.endsWith('data: [DONE]\n\n'))) throw new Error(`${response.status}: ${text}`);
  const last = request.stream ? text.trimEnd().split('\n\n').at(-2)?.slice('data: '.length) : text;
  const { usage } = JSON.parse(last ?? '') as {
    usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens: number } };
  };
  return {
    requestId: response.headers.get('x-request-id') ?? '',
    usage: {
      promptTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      outputTokens: usage.completion_tokens,
    },
  };
}

/** Leaves at a moment of its own, whatever has come by then. `tokens` are those it was sent: one a chunk. */
async function leaveAfter(tenant: Tenant, request: ChatRequest, delayMs: number): Promise<{ requestId: string; tokens: number }> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), delayMs);
  let requestId = '';
  let received = '';
  try {
    const response = await post(tenant, request, abort.signal);
    requestId = response.headers.get('x-request-id') ?? '';
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) received += decoder.decode(piece, { stream: true });
    throw new Error(`request ${requestId} ended before its client left`);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return { requestId, tokens: received.split(/"(?:reasoning_)?content":"[^"]/).length - 1 };
}

async function settlements({ accountId }: Tenant): Promise<Settled[]> {
  const { rows } = await database.query<Record<string, string>>(
    `SELECT request_id, model, reason, cost::text, over::text, prompt_tokens, cached_tokens, output_tokens, prompt_source, output_source
       FROM billing.settlement WHERE account_id = $1`,
    [accountId],
  );
  return rows.map((row) => ({
    request_id: row.request_id ?? '',
    model: row.model ?? '',
    reason: row.reason ?? '',
    cost: BigInt(row.cost ?? -1),
    over: BigInt(row.over ?? -1),
    usage: { promptTokens: Number(row.prompt_tokens), cachedTokens: Number(row.cached_tokens), outputTokens: Number(row.output_tokens) },
    prompt_source: row.prompt_source ?? null,
    output_source: row.output_source ?? null,
  }));
}

function readPrices(file: string): Map<string, Price> {
  const { models } = parse(readFileSync(file, 'utf8')) as {
    models: { id: string; price: { inputUsdPerMTok: string; cachedInputUsdPerMTok: string; outputUsdPerMTok: string } }[];
  };
  return new Map(
    models.map(({ id, price }) => [
      id,
      {
        inputPicoUsd: parseUsdPerMillionTokens(price.inputUsdPerMTok),
        cachedInputPicoUsd: parseUsdPerMillionTokens(price.cachedInputUsdPerMTok),
        outputPicoUsd: parseUsdPerMillionTokens(price.outputUsdPerMTok),
      },
    ]),
  );
}

function priceOf(model: string): Price {
  const price = prices.get(model);
  if (!price) throw new Error(`${model} has no price`);
  return price;
}

async function inParallel<Item>(items: Item[], work: (item: Item, index: number) => Promise<void>): Promise<void> {
  const queue = items.entries();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [index, item] of queue) await work(item, index);
    }),
  );
}

function pick<Item>(random: () => number, items: Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** A small generator of its own, so that a failure comes again: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
