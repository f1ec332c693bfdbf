import { once } from 'node:events';
import { connect } from 'node:net';
import { balanceGet } from '#contracts/billing/money.js';
import type { ErrorCode } from '#inference/errors.js';
import { TEST_KEY, TEST_MODEL, testKey } from '#testing/fake-services.js';
import { reportedUsage } from '#testing/token-usage.js';
import { KEY, readError, startTestGateway, type TestGateway } from '../../test/test-gateway.js';

/** Behaviour of real clients: extra headers, output limits beyond any model, thirty retries of a failing model. */

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const MESSAGES = [{ role: 'user', content: 'Hi' }];
const CHAT = { model: 'test-model', messages: MESSAGES };
const BODIES = {
  '/v1/chat/completions': CHAT,
  '/v1/responses': { model: 'test-model', input: 'Hi' },
  '/v1/messages': { ...CHAT, max_tokens: 100 },
};

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.post(path, { body, headers: { ...KEY, ...headers } });
}

test.each(Object.entries(BODIES))('headers of SDKs and agents have no effect at %s [H-10]', async (path, body) => {
  const headers = {
    'x-stainless-lang': 'js',
    'x-codex-turn-metadata': '{"a":1}',
    'session-id': 's',
    'thread-id': 't',
    originator: 'codex_cli_rs',
    'x-app': 'cli',
    'anthropic-beta': 'a,b',
    'anthropic-dangerous-direct-browser-access': 'true',
    'openai-organization': 'org',
    'openai-project': 'proj',
    'x-session-affinity': 'x',
  };
  const [bare, dressed] = [await post(path, body), await post(path, body, headers)];
  expect([bare.status, dressed.status]).toEqual([200, 200]);
  expect(gateway.fakes.opened[1]?.request).toEqual(gateway.fakes.opened[0]?.request);
});

test('a message may request 64,000 tokens, and is limited to those of the model [M-33, T-50]', async () => {
  const response = await post('/v1/messages', { ...CHAT, max_tokens: 64_000 });
  expect(response.status).toBe(200);
  expect(gateway.fakes.opened.map(({ ticket }) => ticket.outputTokensMax)).toEqual([1_000]);
});

test.each(Object.entries(BODIES).slice(0, 2))(
  "without its own limit a reply at %s has the model's default limit [chat-max-tokens]",
  async (path, body) => {
    await post(path, body);
    expect(gateway.fakes.opened.map(({ ticket }) => ticket.outputTokensMax)).toEqual([TEST_MODEL.defaultOutputTokens]);
  },
);

test.each(Object.entries(BODIES))(
  'thirty retries of a failing model leave no hold and cost nothing at %s [error-upstream, T-49]',
  async (path, body) => {
    gateway.fakes.model = (stream) => {
      stream.write({ type: 'completion-failure', code: 'upstream_error', message: 'The model failed.' });
      stream.end();
    };
    for (let attempt = 0; attempt < 30; attempt++) expect((await post(path, { ...body, stream: true })).status).toBe(502);
    expect(gateway.fakes.settles.map(({ holdId }) => holdId)).toEqual(gateway.fakes.reserves.map(({ holdId }) => holdId));
    expect(gateway.fakes.settles.map(({ reason, usage }) => [reason, usage])).toEqual(
      Array.from({ length: 30 }, () => ['failed', undefined]),
    );
  },
);

test.each<ErrorCode>([
  'rate_limit_exceeded',
  'concurrency_limit',
  'model_capacity',
  'internal_error',
  'upstream_error',
  'model_unavailable',
  'upstream_timeout',
])('%s has `retry-after` and `x-should-retry`, also without a known pause [error-retry, H-4, H-5]', async (code) => {
  gateway.fakes.model = (stream) => {
    stream.write({ type: 'completion-failure', code, message: 'Later.' });
    stream.end();
  };
  for (const [path, body] of Object.entries(BODIES)) {
    const { headers } = await post(path, body);
    expect([headers.get('retry-after'), headers.get('x-should-retry')]).toEqual(['1', 'true']);
  }
});

test('models and balance are free, and the balance is never cached [free-endpoints, get-balance, L-6]', async () => {
  let asked = 0;
  gateway.fakes.messaging.answer(balanceGet, () => ({
    object: 'balance' as const,
    currency: 'USD' as const,
    balance_pico_usd: String(++asked),
    balance_usd: '0.00',
    reserved_pico_usd: '0',
    available_pico_usd: String(asked),
    topup_balance_pico_usd: String(asked),
    plan_balance_pico_usd: '0',
    plan_expires_at: null,
    expiredHeld: '0',
  }));
  const balances: string[] = [];
  for (let round = 0; round < 3; round++) {
    const response = await fetch(`${gateway.url}/v1/balance`, { headers: KEY });
    balances.push(((await response.json()) as { balance_pico_usd: string }).balance_pico_usd);
  }
  expect((await fetch(`${gateway.url}/v1/models`, { headers: KEY })).status).toBe(200);
  expect(balances).toEqual(['1', '2', '3']);
  expect([gateway.fakes.applies, gateway.fakes.opened.length]).toEqual([0, 0]);
});

test.each([
  ['/chat/completions', 'The OpenAI SDK without /v1', '/v1/chat/completions', { code: 'invalid_request', param: null }],
  ['/v1/v1/messages?beta=true', 'The Anthropic SDK with /v1', '/v1/messages', undefined],
  ['/messages', 'The AI SDK without /v1', '/v1/messages', undefined],
  ['/proxy/v1/responses', 'a path in between', '/v1/responses', { code: 'invalid_request', param: null }],
])('%s (%s) gets an error that names the endpoint it means, in its format [path-prefix, L-5]', async (path, _, meant, general) => {
  const answer = await post(path, {});
  const message = `There is nothing at POST "${path.split('?')[0]}". Is the base URL right? This endpoint is ${meant}.`;
  const error = { message, type: 'not_found_error', ...general };
  const body = general ? { error } : { type: 'error', error, request_id: answer.headers.get('request-id') };
  expect([answer.status, await answer.json()]).toEqual([404, body]);
});

test('models need a valid key [get-models]', async () => {
  gateway.fakes.refuseKeys();
  const wrong: Record<string, string>[] = [
    { authorization: 'Bearer wrong' },
    { authorization: `Bearer ${testKey(7)}` },
    { 'x-api-key': 'x' },
  ];
  for (const headers of wrong) {
    const answer = await gateway.ask('/v1/models', { headers });
    expect([answer.status, readError(answer).code]).toEqual([401, 'invalid_api_key']);
  }
});

test('models take a key in either header, the balance as Bearer only [get-models, auth-bearer, D2, L-6]', async () => {
  const status = async (path: string, headers: Record<string, string>) => (await fetch(`${gateway.url}${path}`, { headers })).status;
  const other = { 'x-api-key': TEST_KEY };
  expect([await status('/v1/models', KEY), await status('/v1/models', other), await status('/v1/models', {})]).toEqual([200, 200, 401]);
  expect([await status('/v1/balance', other), await status('/v1/balance', {})]).toEqual([401, 401]);
});

test.each(Object.entries(BODIES))('an empty account is not retried at %s [error-retry, H-5]', async (path, body) => {
  gateway.fakes.reserveOutcome = ({ holdId }) => {
    return { status: 'refused', holdId, code: 'insufficient_balance', requiredPicoUsd: '2000000', availablePicoUsd: '1000000' };
  };
  const { status, headers } = await post(path, body);
  expect([status, headers.get('x-should-retry')]).toEqual([402, 'false']);
});

test('a prompt is held and settled the same in every format, with the counts that the reply shows [one-billing, messages-usage-billed]', async () => {
  const limits = { max_tokens: 100, max_output_tokens: 100 };
  const shown: object[] = [];
  for (const [path, body] of Object.entries(BODIES)) {
    const { usage } = (await (await post(path, { ...body, ...limits })).json()) as { usage: object };
    shown.push(usage);
  }
  const [held, ...heldElsewhere] = gateway.fakes.reserves.map(({ amountPicoUsd, price, model, projectId }) => ({
    amountPicoUsd,
    price,
    model,
    projectId,
  }));
  expect(heldElsewhere).toEqual([held, held]);
  const settled = reportedUsage(9, 2, { cachedTokens: 4 });
  expect(gateway.fakes.settles.map(({ usage }) => usage)).toEqual([settled, settled, settled]);
  expect(shown).toMatchObject([
    { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4 }, completion_tokens: 2 },
    { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 2 },
    { input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 2 },
  ]);
});

test('a slow plain reply sends no byte before it is complete, and keeps its status [M-33]', async () => {
  await gateway.close();
  gateway = await startTestGateway({ peekMs: 1, keepAliveMs: 5 });
  const models: (() => void)[] = [];
  gateway.fakes.model = (stream) => {
    models.push(() => {
      stream.write({ type: 'completion-failure', code: 'upstream_error', message: 'The model failed.' });
      stream.end();
    });
  };
  const plain = connect(gateway.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  plain.on('data', (chunk: Buffer) => chunks.push(chunk));
  const body = JSON.stringify({ ...CHAT, max_tokens: 64_000 });
  plain.write(`POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${TEST_KEY}\r\nconnection: close\r\n`);
  plain.write(`content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  // A concurrent stream measures the time: it gets ten keep-alives while the plain reply gets no byte.
  const stream = await post('/v1/messages', { ...CHAT, max_tokens: 100, stream: true });
  let signs = 0;
  for await (const chunk of stream.body ?? []) {
    signs += Buffer.from(chunk).toString().split('event: ping').length - 1;
    if (signs >= 10) break;
  }
  expect([models.length, chunks.length]).toEqual([2, 0]);
  for (const fail of models) fail();
  await once(plain, 'close');
  expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n[\s\S]*\r\n\r\n\{"type":"error"/);
});
