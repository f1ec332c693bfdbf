import Anthropic from '@anthropic-ai/sdk';
import { balanceGet } from '#contracts/billing/money.js';
import { TEST_CALLER, TEST_KEY, testKey } from '#testing/fake-services.js';
import { KEY, readError, startTestGateway, type TestGateway } from '../test/test-gateway.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

describe('replies', () => {
  beforeEach(async () => {
    gateway = await startTestGateway();
  });

  test('a plain reply has its type, length and request id [api-endpoints, chat-completion, auth-bearer, path-prefix, H-1, H-3, H-11]', async () => {
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
      'x-tollgate-cost': '0.000000001',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
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
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache, no-store, no-transform',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked',
      'x-request-id': gateway.fakes.reserves[0]?.requestId,
      'request-id': gateway.fakes.reserves[0]?.requestId,
    });
    expect(text).toMatch(/^data: \{.*"content":"Hel".*\n\ndata: \[DONE\]\n\n$/s);
  });

  test('models: the list, one by its id, encoded or not, and an unknown one [api-endpoints, own-model-ids, model-object, get-models, D6, L-1, L-3, L-4]', async () => {
    const model = (id: string) => ({ object: 'model', id, created: 1_750_000_000, owned_by: 'tests' });
    await gateway.close();
    gateway = await startTestGateway({ modelFacts: 'none' }, gateway.fakes);
    const list = await gateway.ask('/v1/models?limit=1000', { headers: KEY });
    expect(JSON.parse(list.text)).toEqual({ object: 'list', data: [model('test-model'), model('vision/model')] });
    expect(JSON.parse((await gateway.ask('/v1/models/vision%2Fmodel', { headers: { 'x-api-key': TEST_KEY } })).text)).toEqual(
      model('vision/model'),
    );
    const none = await gateway.ask('/v1/models/gpt-4o', { headers: KEY });
    expect([none.status, readError(none).code, none.headers['x-should-retry']]).toEqual([404, 'model_not_found', 'false']);
  });

  describe('models, for the Anthropic SDK', () => {
    const model = (id: string, displayName: string) => ({
      ...{ type: 'model', object: 'model', id, created: 1_750_000_000, owned_by: 'tests' },
      ...{ display_name: displayName, created_at: '2025-06-15T15:06:40.000Z' },
    });
    const client = (apiKey: string) => new Anthropic({ apiKey, baseURL: gateway.url, maxRetries: 0 });

    test('the list and one of them have the fields of both formats [L-2, T-56]', async () => {
      gateway.fakes.models = gateway.fakes.models.map((each, index) => (index === 0 ? { ...each, displayName: 'The Test Model' } : each));
      await gateway.close();
      gateway = await startTestGateway({ modelFacts: 'none' }, gateway.fakes);
      const [first, second] = [model('test-model', 'The Test Model'), model('vision/model', 'vision/model')];
      const page = await client(TEST_KEY).models.list({ limit: 1 });
      expect({ ...page }).toMatchObject({ data: [first, second], has_more: false, first_id: first.id, last_id: second.id });
      expect(page.hasNextPage()).toBe(false);
      expect(await client(TEST_KEY).models.retrieve('vision/model')).toEqual(second);
    });

    test('an unknown id, a wrong key and a missing one get errors of the Messages format [L-2]', async () => {
      const error = (type: string) => ({ type: 'error', error: { type, message: expect.any(String) }, request_id: expect.any(String) });
      await expect(client(TEST_KEY).models.retrieve('none')).rejects.toMatchObject({ status: 404, error: error('not_found_error') });
      gateway.fakes.refuseKeys();
      await expect(client(testKey(7)).models.list()).rejects.toMatchObject({ status: 401, error: error('authentication_error') });
      const none = await gateway.ask('/v1/models', { headers: { 'anthropic-version': '2023-06-01' } });
      expect([none.status, JSON.parse(none.text)]).toEqual([401, error('authentication_error')]);
      expect(none.text).toContain('x-api-key');
    });
  });

  test('the balance has exactly nine fields [api-endpoints, balance-fields, get-balance, auth-bearer, auth-account, L-6]', async () => {
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
