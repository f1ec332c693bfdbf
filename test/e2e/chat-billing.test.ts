import { requestShow } from '#contracts/billing/requests.js';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost, type Price } from '#money/price.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance } from '#testing/tenant.js';

const { gatewayUrl } = stack();
/** Price of `sim-fast` in config/catalog.yaml. */
const price: Price = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };

let administrator: Messaging;
beforeAll(async () => {
  administrator = await connectAdministrator(stack());
});
afterAll(() => administrator?.close());

interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: { cached_tokens: number };
}

function post(apiKey: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', ...body }),
    signal: signal ?? null,
  });
}

function say(content: string): { messages: object[] } {
  return { messages: [{ role: 'user', content }] };
}

function computeReplyCost(usage: ChatUsage): bigint {
  return computeCost(
    {
      promptTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      outputTokens: usage.completion_tokens,
    },
    price,
  );
}

/** Parsed data of every event; `[DONE]` stays a string. */
function parseEvents(sse: string): unknown[] {
  return sse
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => (event === 'data: [DONE]' ? '[DONE]' : JSON.parse(event.slice('data: '.length))));
}

async function spent(apiKey: string, work: () => Promise<void>): Promise<bigint> {
  const before = await readBalance(gatewayUrl, apiKey);
  await work();
  const after = await readBalance(gatewayUrl, apiKey);
  expect(after.reserved_pico_usd).toBe('0');
  return BigInt(before.balance_pico_usd) - BigInt(after.balance_pico_usd);
}

test('a plain reply costs exactly its usage, and the balance shows it at once [one-billing, hold-then-charge, chat-usage]', async () => {
  const { apiKey } = await createTenant(administrator);
  let usage: ChatUsage | undefined;
  const cost = await spent(apiKey, async () => {
    const response = await post(apiKey, say('Hello [[sim tokens=40 cached=3]]'));
    expect(response.status).toBe(200);
    usage = ((await response.json()) as { usage: ChatUsage }).usage;
  });
  expect(usage).toEqual({
    prompt_tokens: expect.any(Number),
    completion_tokens: 40,
    total_tokens: (usage?.prompt_tokens ?? 0) + 40,
    prompt_tokens_details: { cached_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 0 },
  });
  expect(cost).toBe(computeReplyCost(usage as ChatUsage));
  expect(cost).toBeGreaterThan(0n);
});

test('a streamed reply costs exactly the usage of its last chunk, and the balance shows it when the stream ends', async () => {
  const { apiKey } = await createTenant(administrator);
  let usage: ChatUsage | undefined;
  const cost = await spent(apiKey, async () => {
    const response = await post(apiKey, { ...say('Hello [[sim tokens=64]]'), stream: true, stream_options: { include_usage: true } });
    const events = parseEvents(await response.text());
    expect(events.at(-1)).toBe('[DONE]');
    usage = (events.at(-2) as { usage: ChatUsage }).usage;
  });
  expect(cost).toBe(computeReplyCost(usage as ChatUsage));
  expect(usage?.completion_tokens).toBe(64);
});

test.each([
  ['plain', { stream: false }],
  ['streamed', { stream: true }],
])(
  'an upstream failure before any content costs nothing and keeps its status, %s [failed-before-content, error-upstream, M-33]',
  async (_name, mode) => {
    const { apiKey } = await createTenant(administrator);
    const cost = await spent(apiKey, async () => {
      const response = await post(apiKey, { ...say('Hello [[sim status=500]]'), ...mode });
      expect(response.status).toBe(502);
      expect(((await response.json()) as { error: { code: string } }).error.code).toBe('upstream_error');
    });
    expect(cost).toBe(0n);
  },
);

test.each([
  ['plain', { stream: false }],
  ['streamed', { stream: true }],
])('an empty reply is an error in every format and costs nothing, %s [M-30]', async (_name, mode) => {
  const { apiKey } = await createTenant(administrator);
  const text = 'Hello [[sim tokens=0]]';
  const bodies = { 'chat/completions': say(text), responses: { input: text }, messages: { ...say(text), max_tokens: 20 } };
  const cost = await spent(apiKey, async () => {
    for (const [path, body] of Object.entries(bodies)) {
      const response = await fetch(`${gatewayUrl}/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim-fast', ...body, ...mode }),
      });
      expect([path, response.status, await response.json()]).toMatchObject([path, 502, { error: { type: 'api_error' } }]);
    }
  });
  expect(cost).toBe(0n);
});

test('a broken stream ends with an error without [DONE], and costs what a complete reply with its content would cost [failed-after-content]', async () => {
  const { apiKey } = await createTenant(administrator);
  const prompt = `${'"'.repeat(1_000)} [[sim tokens=60 rate=200 cut=20]]`;
  let requestId = '';
  const cost = await spent(apiKey, async () => {
    const response = await post(apiKey, { ...say(prompt), stream: true });
    requestId = response.headers.get('x-request-id') ?? '';
    const events = parseEvents(await response.text());
    expect(events.at(-1)).toEqual({
      error: { message: expect.any(String), type: 'api_error', param: null, code: 'upstream_error' },
    });
  });
  const { settlement } = await administrator.request(requestShow, { requestId });
  expect(settlement).toMatchObject({ reason: 'failed', usage: { promptSource: 'estimated', outputSource: 'counted', outputTokens: 20 } });
  expect(cost).toBe(BigInt(settlement?.costPicoUsd ?? -1));
  expect(cost).toBe(computeCost({ promptTokens: Math.ceil(prompt.length / 4), cachedTokens: 0, outputTokens: 20 }, price));
});

test('output beyond its cap is neither shown nor billed, plain and streamed', async () => {
  const { apiKey } = await createTenant(administrator);
  for (const stream of [false, true]) {
    let usage: ChatUsage | undefined;
    const cost = await spent(apiKey, async () => {
      const body = { ...say('Hello [[sim tokens=5 completion=100000]]'), max_tokens: 40, stream };
      const response = await post(apiKey, { ...body, ...(stream && { stream_options: { include_usage: true } }) });
      usage = stream
        ? (parseEvents(await response.text()).at(-2) as { usage: ChatUsage }).usage
        : ((await response.json()) as { usage: ChatUsage }).usage;
    });
    expect(usage?.completion_tokens).toBe(40);
    expect(cost).toBe(computeReplyCost(usage as ChatUsage));
  }
});

test.each([
  ['for 12 input tokens and 1 of output is enough', '0.0000008', 200],
  ['a pico-dollar below it is not', '0.000000799999', 402],
])('12 bytes with an output limit of 1: a balance %s [hold-size, hold-covered, limit-hold]', async (_name, usd, status) => {
  const { apiKey } = await createTenant(administrator, { usd });
  const response = await post(apiKey, { ...say('Twelve bytes'), model: 'sim-tiny', max_tokens: 1 });
  expect(response.status).toBe(status);
});

test.each([
  ['with an output limit that the estimate does not leave room for', '"'.repeat(4_400), 100, 200],
  ['without a limit', 'x'.repeat(7_400), undefined, 200],
  ['that only the upstream refuses', 'x'.repeat(8_400), 100, 400],
  ['that cannot fit', 'x'.repeat(16_400), undefined, 400],
])('a prompt of a small model %s [error-context-length]', async (_name, text, max_tokens, status) => {
  const { apiKey } = await createTenant(administrator);
  const response = await post(apiKey, { ...say(text), model: 'sim-tiny', max_tokens });
  const reply = status === 200 ? { choices: [{}] } : { error: { code: 'context_length_exceeded' } };
  expect([response.status, await response.json()]).toMatchObject([status, reply]);
});

test('limits of requests per minute and concurrency are refused with the limit and a retry time [error-rate-limit, error-concurrency, limit-requests-per-minute, limit-concurrency]', async () => {
  const slow = { ...say('[[sim tokens=5 ttft=3000]]') };
  const narrow = await createTenant(administrator, { concurrencyMax: 1 });
  const running = post(narrow.apiKey, slow);
  const deadline = Date.now() + 5_000;
  while ((await readBalance(gatewayUrl, narrow.apiKey)).reserved_pico_usd === '0' && Date.now() < deadline);
  const second = await post(narrow.apiKey, slow);
  expect(second.status).toBe(429);
  expect(((await second.json()) as { error: { code: string } }).error.code).toBe('concurrency_limit');
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect((await running).status).toBe(200);

  const rare = await createTenant(administrator, { requestsPerMinuteMax: 2 });
  const statuses: number[] = [];
  for (let index = 0; index < 3; index++) statuses.push((await post(rare.apiKey, say('[[sim tokens=1]]'))).status);
  const third = await post(rare.apiKey, say('[[sim tokens=1]]'));
  expect(statuses).toEqual([200, 200, 429]);
  expect(((await third.json()) as { error: { code: string } }).error.code).toBe('rate_limit_exceeded');
  expect(Number(third.headers.get('retry-after'))).toBeGreaterThanOrEqual(50);
});
