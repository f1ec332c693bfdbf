import { keyResolve } from '#contracts/billing/keys.js';
import { TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { CHAT_BODY, errorOf, KEY, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

const MESSAGES_KEY = { 'x-api-key': TEST_KEY, 'anthropic-version': '2023-06-01' };
const MESSAGES_BODY = { ...CHAT_BODY, max_tokens: 10 };

describe('a key with models', () => {
  beforeEach(async () => {
    gateway = await startTestGateway();
    gateway.fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, models: ['vision/*'] }));
  });

  test('lists them alone', async () => {
    const [list, page, own, other] = await Promise.all([
      gateway.ask('/v1/models', { headers: KEY }),
      gateway.ask('/v1/models', { headers: MESSAGES_KEY }),
      gateway.ask('/v1/models/vision%2Fmodel', { headers: KEY }),
      gateway.ask('/v1/models/test-model', { headers: KEY }),
    ]);
    const idsOf = ({ text }: { text: string }) => JSON.parse(text).data.map(({ id }: { id: string }) => id);
    expect([idsOf(list), idsOf(page), own.status, other.status, errorOf(other).code]).toEqual([
      ['vision/model'],
      ['vision/model'],
      200,
      404,
      'model_not_found',
    ]);
  });

  test.each([
    ['/v1/chat/completions', KEY, CHAT_BODY],
    ['/v1/responses', KEY, { input: 'Hi' }],
    ['/v1/messages', MESSAGES_KEY, MESSAGES_BODY],
    ['/v1/messages/count_tokens', MESSAGES_KEY, MESSAGES_BODY],
  ])('gets the error of an unknown model for any other at %s [error-model-not-found]', async (path, headers, body) => {
    const [refused, unknown] = await Promise.all(
      ['test-model', 'none-model'].map((model) => gateway.ask(path, { headers, body: { ...body, model } })),
    );
    const textOf = (answer: typeof refused) => answer?.text.replace(/req_\w+/, 'req').replace('none-model', 'test-model');
    expect([refused?.status, textOf(refused)]).toEqual([404, textOf(unknown)]);
    expect(gateway.fakes.reserves).toEqual([]);
  });

  test('runs one of them', async () => {
    expect((await gateway.chat({ model: 'vision/model' })).status).toBe(200);
  });
});

describe('a key with networks', () => {
  beforeEach(async () => {
    gateway = await startTestGateway({ trustedProxyHops: 1 });
    gateway.fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, networks: ['10.0.0.0/8', '2001:db8::/32'] }));
  });

  const from = (path: string, address: string, headers: Record<string, string> = KEY) =>
    gateway.ask(path, { headers: { ...headers, 'x-forwarded-for': address }, method: path === '/v1/models' ? 'GET' : 'POST' });

  test('is accepted from them, through a trusted proxy', async () => {
    const answers = await Promise.all(['10.1.2.3', '2001:db8::1'].map((address) => from('/v1/models', address)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('is refused from any other address, which a client cannot forge', async () => {
    const answers = await Promise.all(['11.1.2.3', '2001:db9::1', '10.1.2.3, 11.1.2.3'].map((address) => from('/v1/models', address)));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  test.each([
    ['/v1/chat/completions', KEY, { error: { type: 'authentication_error', code: 'invalid_api_key' } }],
    ['/v1/responses', KEY, { error: { type: 'authentication_error', code: 'invalid_api_key' } }],
    ['/v1/messages', MESSAGES_KEY, { type: 'error', error: { type: 'authentication_error' } }],
  ])('is refused before the body is read at %s [auth-invalid-key]', async (path, headers, error) => {
    const answer = await from(path, '11.1.2.3', headers);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([401, error]);
    expect(JSON.parse(answer.text).error.message).toBe('The API key may not be used from the address 11.1.2.3.');
  });
});
