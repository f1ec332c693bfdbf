import { requestShow } from '#contracts/billing/requests.js';
import type { Messaging } from '#messaging/messaging.js';
import { readUntil } from '#testing/read-until.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** Billing bugs of other gateways, one test each. */
const { gatewayUrl } = stack();

let administrator: Messaging;
beforeAll(async () => {
  administrator = await connectAdministrator(stack());
});
afterAll(() => administrator?.close());

const FORMATS = ['chat/completions', 'responses', 'messages'] as const;
type Format = (typeof FORMATS)[number];

function post(tenant: Tenant, format: Format, directives: string, stream: boolean, signal?: AbortSignal): Promise<Response> {
  const text = `Hello [[sim ${directives}]]`;
  const messages = [{ role: 'user', content: text }];
  const body = { 'chat/completions': { messages }, responses: { input: text }, messages: { messages, max_tokens: 4_000 } }[format];
  return fetch(`${gatewayUrl}/v1/${format}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', stream, ...body }),
    signal: signal ?? null,
  });
}

/** Starts a stream, reads until some content is there, and leaves. */
async function leaveAfterContent(tenant: Tenant, format: Format): Promise<string> {
  const abort = new AbortController();
  const response = await post(tenant, format, 'tokens=3000 rate=200', true, abort.signal);
  await readUntil(response, (received) => received.split('delta').length >= 8);
  abort.abort();
  return response.headers.get('x-request-id') ?? '';
}

test('a cancellation is no exception, and the reservation leaks (LiteLLM#30519, #30522): who leaves makes room at once', async () => {
  const tenant = await createTenant(administrator, { concurrencyMax: 3 });
  for (const format of FORMATS) {
    await Promise.all([1, 2, 3].map(() => leaveAfterContent(tenant, format)));
    await untilNoHolds(administrator, tenant.accountId, 5_000);
  }
  const statuses = await Promise.all([1, 2, 3].map(async () => (await post(tenant, 'chat/completions', 'tokens=3', false)).status));
  expect(statuses).toEqual([200, 200, 200]);
});

test('a client that is gone is billed 0 though the upstream charged (new-api#5235, #7062; LiteLLM#37558): what was received is billed', async () => {
  const tenant = await createTenant(administrator);
  const requestIds = await Promise.all(FORMATS.flatMap((format) => [1, 2, 3].map(() => leaveAfterContent(tenant, format))));
  await untilNoHolds(administrator, tenant.accountId);
  const requests = await Promise.all(requestIds.map((requestId) => administrator.request(requestShow, { requestId })));
  for (const { settlement } of requests) {
    expect(settlement).toMatchObject({ reason: 'client-disconnected', usage: { promptSource: 'estimated', outputSource: 'counted' } });
    expect(settlement?.usage.outputTokens).toBeGreaterThanOrEqual(2);
    expect(BigInt(settlement?.costPicoUsd ?? 0)).toBeGreaterThan(0n);
  }
  const total = requests.reduce((sum, { settlement }) => sum + BigInt(settlement?.costPicoUsd ?? 0), 0n);
  expect((await readBalance(gatewayUrl, tenant.apiKey)).balance_pico_usd).toBe(String(10_000_000_000_000n - total));
});

/** How an upstream fails before any content. */
const FAILURES = {
  'a status': 'status=500',
  'a long error text': `status=400 message="${'the error says a great deal '.repeat(20).trim()}"`,
  'an error inside the stream': 'tokens=50 error=0',
  'a broken connection': 'tokens=50 cut=0',
  'an end without an end': 'tokens=50 close=0',
  'nothing at all': 'tokens=0',
} as const;

describe.each(FORMATS)('%s', (format) => {
  test.each(Object.entries(FAILURES).flatMap(([name, directives]) => [false, true].map((stream) => [name, stream, directives] as const)))(
    'error texts are counted, the prompt is billed, or the refund is forgotten on one endpoint of three (new-api#5288, #4168; otari#128): %s, streamed %s, costs nothing',
    async (_, stream, directives) => {
      const tenant = await createTenant(administrator);
      const response = await post(tenant, format, directives, stream);
      expect(response.status).toBeGreaterThanOrEqual(400);
      await response.text();
      const { balance_pico_usd: balance, reserved_pico_usd: reserved } = await readBalance(gatewayUrl, tenant.apiKey);
      expect({ balance, reserved }).toEqual({ balance: '10000000000000', reserved: '0' });
    },
  );
});
