import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { budgetSet } from '#contracts/billing/budgets.js';
import { requestShow } from '#contracts/billing/requests.js';
import type { Messaging } from '#messaging/messaging.js';
import { type Fault, FaultServer, wholeReply } from '#testing/fault-server.js';
import { type CatalogEntries, offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** Embeddings at upstreams that limit, miscount, fail and stall, and what each request is billed. */

const { gatewayUrl } = catalogStack();
const MODEL = 'embeddings-split';
/** Pico-USD of a token. */
const PRICE = 20_000n;
const MODEL_ENTRY = {
  id: MODEL,
  ownedBy: 'tests',
  contextTokens: 1_000,
  embeddingDimensions: 2,
  price: { inputUsdPerMTok: '0.02', cachedInputUsdPerMTok: '0.02', outputUsdPerMTok: '0' },
  routes: [{ upstream: MODEL, model: 'theirs' }],
};
const TWO_ROUTES = {
  ...MODEL_ENTRY,
  id: `${MODEL}-2`,
  routes: [...MODEL_ENTRY.routes, { upstream: MODEL, model: 'theirs-2', priority: 1 }],
};

let upstream: FaultServer;
let administrator: Messaging;
let tenant: Tenant;
let entries: CatalogEntries;
/** Inputs of each call of the upstream. */
let calls: string[][] = [];

beforeAll(async () => {
  upstream = await FaultServer.start();
  administrator = await connectAdministrator(catalogStack());
  tenant = await createTenant(administrator);
  const baseUrl = `http://127.0.0.1:${upstream.port}/v1`;
  const upstreamEntry = { id: MODEL, kind: 'openai-chat', baseUrl, allowPrivateNetwork: true, capabilities: { embeddingInputsMax: 2 } };
  entries = { upstreams: [upstreamEntry], models: [MODEL_ENTRY, TWO_ROUTES] };
  await offerModels(administrator, catalogStack(), tenant.apiKey, entries);
});
afterAll(async () => {
  await withdrawModels(administrator, entries);
  await administrator.close();
  await upstream.stop();
});
beforeEach(() => {
  calls = [];
});

type Render = (reply: Record<string, unknown>, call: number, socket: Socket) => string | Promise<string>;

/** Answers as OpenAI does: the vector of a text is its length and 1. `render` may change the reply. */
function embedding(render: Render = (reply) => JSON.stringify(reply)): Fault {
  return async ({ socket, body }) => {
    const { input } = JSON.parse(body) as { input: string[] };
    calls.push(input);
    const call = calls.length;
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: [text.length, 1] }));
    const tokens = input.join('').length;
    socket.write(wholeReply(await render({ object: 'list', data, usage: { prompt_tokens: tokens, total_tokens: tokens } }, call, socket)));
  };
}

async function send(input: unknown, { over = {}, as = tenant, signal }: { over?: object; as?: Tenant; signal?: AbortSignal } = {}) {
  const response = await fetch(`${gatewayUrl}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, input, ...over }),
    signal,
  });
  const body = (await response.json()) as { data?: { index: number; embedding: unknown }[]; usage?: object; error?: { code: string } };
  return { status: response.status, body, requestId: response.headers.get('x-request-id') ?? '' };
}

async function readBill(requestId: string) {
  const { settlement } = await administrator.request(requestShow, { requestId });
  return settlement && { reason: settlement.reason, usage: settlement.usage, costPicoUsd: settlement.costPicoUsd };
}

const TEXTS = ['a', 'bb', 'ccc', 'dddd', 'eeeee'];

test('a request with more inputs than the upstream takes is split; order, usage and bill are of all [api-embeddings]', async () => {
  upstream.behave(embedding());
  const { status, body, requestId } = await send(TEXTS);
  expect([status, calls]).toEqual([200, [['a', 'bb'], ['ccc', 'dddd'], ['eeeee']]]);
  expect(body).toEqual({
    object: 'list',
    data: TEXTS.map(({ length }, index) => ({ object: 'embedding', index, embedding: [length, 1] })),
    model: MODEL,
    usage: { prompt_tokens: 15, total_tokens: 15 },
  });
  expect(await readBill(requestId)).toMatchObject({
    reason: 'completed',
    usage: { promptTokens: 15, outputTokens: 0 },
    costPicoUsd: `${15n * PRICE}`,
  });
});

test('numbers become base64 and base64 numbers, exactly; vectors out of order are put in order', async () => {
  const base64 = (...numbers: number[]): string => Buffer.from(new Float32Array(numbers).buffer).toString('base64');
  upstream.behave(embedding((reply) => JSON.stringify({ ...reply, data: (reply.data as object[]).reverse() })));
  const inBase64 = await send(['a', 'bb'], { over: { encoding_format: 'base64' } });
  upstream.behave(embedding((reply) => JSON.stringify({ ...reply, data: [{ embedding: base64(0.1, -3e-5) }] })));
  const inNumbers = await send(['a']);
  const vectors = [inBase64, inNumbers].map(({ body }) => body.data?.map(({ index, embedding: vector }) => [index, vector]));
  expect(vectors).toEqual([
    [
      [0, base64(1, 1)],
      [1, base64(2, 1)],
    ],
    [[0, [Math.fround(0.1), Math.fround(-3e-5)]]],
  ]);
});

test('a part that is not counted is estimated', async () => {
  upstream.behave(embedding((reply, call) => JSON.stringify({ ...reply, ...(call === 2 && { usage: undefined }) })));
  const { status, requestId } = await send(['a', 'bb', 'c'.repeat(40)]);
  expect([status, await readBill(requestId)]).toEqual([
    200,
    {
      reason: 'completed',
      usage: expect.objectContaining({ promptTokens: 3 + 10, outputTokens: 0, promptSource: 'estimated' }),
      costPicoUsd: `${13n * PRICE}`,
    },
  ]);
});

test('tokens beyond the hold are not billed', async () => {
  upstream.behave(embedding((reply) => JSON.stringify({ ...reply, usage: { prompt_tokens: 999, total_tokens: 999 } })));
  const { body, requestId } = await send(['abcd']);
  const most = BigInt('abcd'.length + 2);
  expect([body.usage, await readBill(requestId)]).toMatchObject([{ prompt_tokens: 6 }, { costPicoUsd: `${most * PRICE}` }]);
});

test.each<[what: string, render: Render]>([
  ['an error', () => JSON.stringify({ error: { message: 'Something broke.', type: 'server_error' } })],
  ['a vector too few', (reply) => JSON.stringify({ ...reply, data: [] })],
  ['vectors of another length', (reply) => JSON.stringify({ ...reply, data: [{ embedding: [1, 2, 3] }] })],
  ['one index twice', (reply) => JSON.stringify({ ...reply, data: [{ index: 3, embedding: [1, 2] }] })],
  ['no numbers', (reply) => JSON.stringify({ ...reply, data: [{ embedding: 'AAAAAAAA?' }] })],
])('the last part fails by %s: so does the request, and it costs nothing', async (_what, render) => {
  upstream.behave(embedding((reply, call, socket) => (call === 3 ? render(reply, call, socket) : JSON.stringify(reply))));
  const { status, body, requestId } = await send(TEXTS);
  expect([status, body.error?.code, calls.length]).toEqual([502, 'upstream_error', 3]);
  expect(await readBill(requestId)).toEqual({
    reason: 'failed',
    usage: expect.objectContaining({ promptTokens: 0, outputTokens: 0 }),
    costPicoUsd: '0',
  });
});

test('where another route is left, a part that fails moves the whole request there', async () => {
  upstream.behave(embedding((reply, call) => (call === 2 ? 'not JSON' : JSON.stringify(reply))));
  const { status, body, requestId } = await send(TEXTS, { over: { model: TWO_ROUTES.id } });
  expect([status, body.usage, calls.length]).toEqual([200, { prompt_tokens: 15, total_tokens: 15 }, 2 + 3]);
  expect(await readBill(requestId)).toMatchObject({ costPicoUsd: `${15n * PRICE}` });
});

test('a client that disconnects in the second part pays for the first two', async () => {
  const client = new AbortController();
  const poor = await createTenant(administrator, { usd: '1.00' });
  const before = await readBalance(gatewayUrl, poor.apiKey);
  upstream.behave(
    embedding(async (reply, call, socket) => {
      if (call === 2) {
        client.abort();
        await once(socket, 'close');
      }
      return JSON.stringify(reply);
    }),
  );
  await expect(send(['a', 'bb', 'c'.repeat(40), 'd'.repeat(40), 'e'.repeat(400)], { as: poor, signal: client.signal })).rejects.toThrow();
  await untilNoHolds(administrator, poor.accountId);
  const after = await readBalance(gatewayUrl, poor.apiKey);
  const spent = BigInt(before.balance_pico_usd) - BigInt(after.balance_pico_usd);
  // The first part as reported, the second as estimated; the third was never sent.
  expect([spent, calls.length]).toEqual([(3n + 20n) * PRICE, 2]);
});

describe('overspend: 200 requests at once', () => {
  const ROUNDS = 200;
  const INPUT = ['x'.repeat(48)];
  const HELD = 50n * PRICE;

  async function attack(as: Tenant): Promise<Map<number, number>> {
    upstream.behave(
      embedding(async (reply) => {
        await delay(20); // so that requests overlap
        return JSON.stringify(reply);
      }),
    );
    const statuses = await Promise.all(Array.from({ length: ROUNDS }, async () => (await send(INPUT, { as })).status));
    await untilNoHolds(administrator, as.accountId);
    return new Map([200, 402].map((status) => [status, statuses.filter((one) => one === status).length]));
  }

  test('a balance for three holds is never exceeded', async () => {
    const poor = await createTenant(administrator, { usd: usd(3n * HELD) });
    const ended = await attack(poor);
    const { balance_pico_usd: left } = await readBalance(gatewayUrl, poor.apiKey);
    expect((ended.get(200) ?? 0) + (ended.get(402) ?? 0)).toBe(ROUNDS);
    expect(BigInt(left)).toBe(3n * HELD - BigInt(ended.get(200) ?? 0) * 48n * PRICE);
    expect(BigInt(left)).toBeGreaterThanOrEqual(0n);
  });

  test('neither is a budget', async () => {
    const rich = await createTenant(administrator);
    await administrator.request(budgetSet, { accountId: rich.accountId, period: 'total', limitPicoUsd: `${3n * HELD}` });
    const ended = await attack(rich);
    const { balance_pico_usd: left } = await readBalance(gatewayUrl, rich.apiKey);
    const spent = 10n ** 13n - BigInt(left);
    expect([spent, (ended.get(200) ?? 0) + (ended.get(402) ?? 0)]).toEqual([BigInt(ended.get(200) ?? 0) * 48n * PRICE, ROUNDS]);
    expect(spent).toBeLessThanOrEqual(3n * HELD);
    expect(spent).toBeGreaterThan(0n);
  });
});

function usd(amount: bigint): string {
  return `0.${amount.toString().padStart(12, '0')}`;
}
