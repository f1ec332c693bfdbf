import Anthropic from '@anthropic-ai/sdk';
import { balanceGet } from '#contracts/billing/money.js';
import { TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { errorOf, KEY, startTestGateway, type TestGateway } from '../test/test-gateway.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

describe('replies', () => {
  beforeEach(async () => {
    gateway = await startTestGateway();
  });

  test('a plain reply has its type, length and request id [api-endpoints, chat-completion, path-prefix, H-1, H-3, H-11]', async () => {
    const { status, headers, text } = await gateway.chat();
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      object: 'chat.completion',
      model: 'test-model',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
    });
    const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers;
    const requestId = String(headers['x-request-id']);
    expect(requestId).toMatch(/^req_[0-9a-f]{32}$/);
    expect(rest).toEqual({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      'x-request-id': requestId,
      'request-id': requestId,
    });
    expect(gateway.fakes.reserves[0]?.requestId).toBe(requestId);
  });

  test('a stream has headers that prevent buffering [stream-replies, H-2, H-3, H-11]', async () => {
    const { status, headers, text } = await gateway.chat({ stream: true });
    expect(status).toBe(200);
    const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers;
    expect(rest).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked',
      'x-request-id': gateway.fakes.reserves[0]?.requestId,
      'request-id': gateway.fakes.reserves[0]?.requestId,
    });
    expect(text).toMatch(/^data: \{.*"content":"Hel".*\n\ndata: \[DONE\]\n\n$/s);
  });

  test('models: the list, one by its id, encoded or not, and an unknown one [api-endpoints, own-model-ids, model-object, get-models, D6, L-3, L-4]', async () => {
    const model = (id: string) => ({ object: 'model', id, created: 1_750_000_000, owned_by: 'tests' });
    const list = await gateway.ask('/v1/models?limit=1000', { headers: KEY });
    expect(JSON.parse(list.text)).toEqual({ object: 'list', data: [model('test-model'), model('vision/model')] });
    expect(JSON.parse((await gateway.ask('/v1/models/vision%2Fmodel', { headers: { 'x-api-key': TEST_KEY } })).text)).toEqual(
      model('vision/model'),
    );
    const none = await gateway.ask('/v1/models/gpt-4o', { headers: KEY });
    expect([none.status, errorOf(none).code, none.headers['x-should-retry']]).toEqual([404, 'model_not_found', 'false']);
  });

  test('the Anthropic SDK lists the models [L-2]', async () => {
    const client = new Anthropic({ apiKey: TEST_KEY, baseURL: gateway.url, maxRetries: 0 });
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['test-model', 'vision/model']);
  });

  test('the balance has exactly nine fields [api-endpoints, balance-fields, get-balance, auth-account, L-6]', async () => {
    const balance = {
      object: 'balance',
      currency: 'USD',
      balance_pico_usd: '12500000000000',
      balance_usd: '12.50',
      reserved_pico_usd: '0',
      available_pico_usd: '12500000000000',
      topup_balance_pico_usd: '12500000000000',
      plan_balance_pico_usd: '0',
      plan_expires_at: null,
    } as const;
    const asked: unknown[] = [];
    gateway.fakes.messaging.answer(balanceGet, (request) => {
      asked.push(request);
      return { ...balance, expiredHeld: '5' };
    });
    const answer = await gateway.ask('/v1/balance', { headers: KEY });
    expect([answer.status, JSON.parse(answer.text), asked]).toEqual([200, balance, [{ accountId: TEST_CALLER.accountId }]]);
  });

  test.each([
    ['GET', '/'],
    ['HEAD', '/'],
    ['GET', '/livez'],
    ['GET', '/readyz'],
  ])('%s %s is 200 without a key [D7]', async (method, path) => {
    const { status, headers, text } = await gateway.ask(path, { method });
    expect([status, headers['content-type'], text]).toEqual([200, 'application/json', method === 'HEAD' ? '' : '{"status":"ok"}']);
  });
});
