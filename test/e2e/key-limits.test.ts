import { keyUpdate } from '#contracts/billing/keys.js';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';

/** Limits of a key in each format: a request that fits, one that has to wait, and one that never fits. */

const { gatewayUrl } = stack();
const FORMATS: [path: string, body: (outputMax: number) => object][] = [
  ['/v1/chat/completions', (max_tokens) => ({ messages: [{ role: 'user', content: 'Hello' }], max_tokens })],
  ['/v1/responses', (max_output_tokens) => ({ input: 'Hello', max_output_tokens })],
  ['/v1/messages', (max_tokens) => ({ messages: [{ role: 'user', content: 'Hello' }], max_tokens })],
];

let administrator: Messaging;
let tenant: Tenant;
beforeAll(async () => {
  administrator = await connectAdministrator(stack());
});
beforeEach(async () => {
  tenant = await createTenant(administrator);
});
afterAll(() => administrator?.close());

async function send(path: string, body: object) {
  const response = await fetch(`${gatewayUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', ...body }),
  });
  const { error } = (await response.json()) as { error?: { message: string } | null };
  return { status: response.status, message: error?.message, header: (name: string) => response.headers.get(name) };
}

test.each(FORMATS)('%s: tokens per minute of a key [error-rate-limit]', async (path, body) => {
  await administrator.request(keyUpdate, { keyId: tenant.keyId, tokensPerMinuteMax: 500 });
  const first = await send(path, body(400));
  expect([first.status, first.header('x-ratelimit-limit-tokens')]).toEqual([200, '500']);
  const tooLarge = await send(path, body(501));
  expect([tooLarge.status, tooLarge.message]).toEqual([
    400,
    expect.stringMatching(/more than the API key's limit of 500 tokens per minute/),
  ]);
  const waiting = await send(path, body(490));
  expect([waiting.status, waiting.message]).toEqual([
    429,
    expect.stringMatching(/^The API key's limit of 500 tokens per minute is reached/),
  ]);
  expect(Number(waiting.header('retry-after'))).toBeGreaterThan(0);
});

test.each(FORMATS)('%s: requests per minute of a key [error-rate-limit]', async (path, body) => {
  await administrator.request(keyUpdate, { keyId: tenant.keyId, requestsPerMinuteMax: 1 });
  const [first, second] = [await send(path, body(5)), await send(path, body(5))];
  expect([first.status, first.header('x-ratelimit-limit-requests'), first.header('x-ratelimit-limit-tokens')]).toEqual([200, '1', null]);
  expect([second.status, second.message]).toEqual([
    429,
    `The API key's limit of 1 requests per minute is reached. Please try again in ${second.header('retry-after')}s.`,
  ]);
});
