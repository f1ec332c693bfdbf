import { setTimeout as delay } from 'node:timers/promises';
import { TEST_KEY, TEST_MODEL } from '#testing/fake-services.js';
import {
  type Ask,
  CHAT,
  CHAT_BODY,
  JSON_TYPE,
  KEY,
  readError,
  readText,
  startTestGateway,
  type TestGateway,
} from '../../test/test-gateway.js';
import { chatAdapter } from '../protocols/chat/adapter.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

describe('the order of refusals [error-retry, H-3, H-5, H-6]', () => {
  beforeEach(async () => {
    gateway = await startTestGateway({ bodyBytesMax: 2_000 });
  });

  const large = JSON.stringify({ ...CHAT_BODY, model: 'x'.repeat(3_000) });
  const zipped = { 'content-encoding': 'gzip' };
  const rows: [name: string, path: string, ask: Ask, ...expected: [status: number, code: string, param?: string]][] = [
    ['an unknown path, before its key [path-prefix]', '/v1/nothing', { body: large }, 404, 'invalid_request'],
    ['a wrong method, before its key', CHAT, { method: 'PUT', body: large }, 405, 'invalid_request'],
    ['no key, before the size [auth-invalid-key, error-invalid-key]', CHAT, { body: large }, 401, 'invalid_api_key'],
    ['a key of another form [auth-invalid-key]', CHAT, { headers: { authorization: 'Basic abc' }, body: large }, 401, 'invalid_api_key'],
    [
      'a key in a header of another format [auth-bearer]',
      CHAT,
      { headers: { 'x-api-key': TEST_KEY }, body: large },
      401,
      'invalid_api_key',
    ],
    [
      'size, before the type [error-too-large]',
      CHAT,
      { headers: { ...KEY, 'content-type': 'text/plain' }, body: large },
      413,
      'request_too_large',
    ],
    ['type, before JSON [json-bodies]', CHAT, { headers: { ...KEY, 'content-type': 'text/plain' }, body: '{' }, 415, 'invalid_request'],
    ['compression [H-10]', CHAT, { headers: { ...KEY, ...JSON_TYPE, ...zipped }, body: '{' }, 415, 'invalid_request'],
    [
      'another charset',
      CHAT,
      { headers: { ...KEY, 'content-type': 'application/json; charset=utf-16' }, body: '{' },
      415,
      'invalid_request',
    ],
    ['JSON, before fields [error-invalid-json]', CHAT, { headers: { ...KEY, ...JSON_TYPE }, body: '{"model": }' }, 400, 'invalid_json'],
    ['an empty body', CHAT, { headers: { ...KEY, ...JSON_TYPE }, body: '' }, 400, 'invalid_json'],
    [
      'fields, before the model [error-invalid-request]',
      CHAT,
      { headers: { ...KEY, ...JSON_TYPE }, body: { model: 'gpt', messages: 1 } },
      400,
      'invalid_request',
      'messages',
    ],
    [
      'the model, before its context [error-model-not-found]',
      CHAT,
      { headers: KEY, body: { ...CHAT_BODY, model: 'gpt', max_tokens: 9_999 } },
      404,
      'model_not_found',
      'model',
    ],
    [
      'the context, before funds [error-context-length, E-4]',
      CHAT,
      { headers: KEY, body: { ...CHAT_BODY, messages: [{ role: 'user', content: 'x'.repeat(1_700) }], model: 'tiny' } },
      400,
      'context_length_exceeded',
    ],
  ];
  test.each(rows.map(([name, path, request, ...expected]) => ({ name, path, request, expected })))(
    '$name',
    async ({ path, request, expected }) => {
      const [status, code, param] = expected;
      gateway.fakes.models.push({ ...TEST_MODEL, id: 'tiny', contextTokens: 200 });
      gateway.fakes.messaging.reconnect();
      await delay(0);
      const answer = await gateway.ask(path, request);
      expect([answer.status, readError(answer).code, readError(answer).param ?? undefined]).toEqual([status, code, param]);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.headers['x-request-id']).toMatch(/^req_/);
      expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
      expect(answer.headers['x-should-retry']).toBe('false');
      expect([gateway.fakes.applies, gateway.fakes.opened.length]).toEqual([0, 0]);
    },
  );

  test('an unknown path and a wrong method get an error that names the available methods [error-body-general, L-5]', async () => {
    expect(readError(await gateway.ask('/v1/nothing?x=1'))).toEqual({
      message: 'There is nothing at GET "/v1/nothing".',
      type: 'not_found_error',
      code: 'invalid_request',
      param: null,
    });
    const wrong = await gateway.ask(CHAT, { headers: KEY });
    expect([wrong.headers.allow, readError(wrong).type]).toEqual(['POST', 'invalid_request_error']);
    expect((await gateway.ask('/v1/models', { method: 'OPTIONS' })).headers).toMatchObject({ allow: 'GET, HEAD' });
  });

  test('billing decides last, and its refusals have `retry-after` [error-rate-limit, H-4]', async () => {
    gateway.fakes.reserveOutcome = ({ holdId }) => ({
      status: 'refused',
      holdId,
      code: 'rate_limit_exceeded',
      limit: 5,
      retryAfterSeconds: 90,
    });
    const answer = await gateway.chat();
    expect([answer.status, readError(answer).code, answer.headers['retry-after']]).toEqual([429, 'rate_limit_exceeded', '60']);
  });

  test('an unexpected fault is 500 internal_error, and its cause is logged, never sent [error-internal]', async () => {
    const { renderCompletion } = chatAdapter;
    chatAdapter.renderCompletion = () => {
      throw new TypeError('a detail of the code');
    };
    const answer = await gateway.chat();
    chatAdapter.renderCompletion = renderCompletion;
    expect([answer.status, readError(answer)]).toEqual([
      500,
      { message: 'The gateway failed. The request id leads to what happened.', type: 'api_error', param: null, code: 'internal_error' },
    ]);
    expect(JSON.stringify(gateway.logged)).toContain('a detail of the code');
  });

  test('a request that is not HTTP gets a reply with a request id', async () => {
    const socket = await gateway.connect();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n');
    expect(await readText(socket)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n(?=.*x-request-id: req_).*"code":"invalid_request"/s);
  });
});
