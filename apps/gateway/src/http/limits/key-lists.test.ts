import { keyResolve } from '#contracts/billing/keys.js';
import { TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { CHAT_BODY, KEY, readError, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';

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
    const readIds = ({ text }: { text: string }) => JSON.parse(text).data.map(({ id }: { id: string }) => id);
    expect([readIds(list), readIds(page), own.status, other.status, readError(other).code]).toEqual([
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
    const readText = (answer: typeof refused) => answer?.text.replace(/req_\w+/, 'req').replace('none-model', 'test-model');
    expect([refused?.status, readText(refused)]).toEqual([404, readText(unknown)]);
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

  test.each([
    ['a port', '10.1.2.3:4711', 200],
    ['an IPv6 address with a port', '[2001:db8::1]:4711', 200],
    ['an allowed address in a place that a client can forge', '10.1.2.3, 11.1.2.3:4711', 401],
    ['a word', 'unknown', 401],
    ['an empty entry', '10.1.2.3,', 401],
  ])('behind a proxy that writes %s: %j gets %i [sec-forwarded-address]', async (_form, forwarded, status) => {
    expect((await from('/v1/models', forwarded)).status).toBe(status);
  });

  test('is refused when the proxy names no address, although its own is allowed; the log says so [sec-forwarded-address]', async () => {
    gateway.fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, networks: ['127.0.0.0/8', '::/0'] }));
    const answer = await gateway.ask('/v1/models', { headers: KEY });
    const message = 'The API key may be used from some networks only, and the proxy in front of the gateway did not name your address.';
    expect([answer.status, readError(answer)]).toMatchObject([401, { code: 'invalid_api_key', message }]);
    expect(gateway.logged.filter(({ msg }) => msg === 'request')).toMatchObject([{ clientAddress: 'unknown', ...TEST_CALLER }]);
  });
});

test('a connection with a valid key from a forbidden network makes room before one with an accepted key [sec-forbidden-network]', async () => {
  gateway = await startTestGateway({ trustedProxyHops: 1, connectionsMax: 2 });
  gateway.fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, networks: ['10.0.0.0/8'] }));
  const closed: string[] = [];
  const open = async (address: string): Promise<void> => {
    const socket = await gateway.connect();
    socket.on('close', () => closed.push(address));
    socket.write(`GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\nx-forwarded-for: ${address}\r\n\r\n`);
    socket.resume();
    await until(() => gateway.logged.some(({ clientAddress }) => clientAddress === address));
  };
  await open('10.0.0.1');
  await open('11.0.0.1');
  await open('10.0.0.2');
  await until(() => closed.length === 1);
  expect(closed).toEqual(['11.0.0.1']);
});
