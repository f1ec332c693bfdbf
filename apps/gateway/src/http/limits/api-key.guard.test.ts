import { createHash } from 'node:crypto';
import { API_KEY_PREFIX } from '#contracts/api-key.js';
import { keyChanged } from '#contracts/billing/events.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { CHAT, readError, readText, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

describe('keys', () => {
  beforeEach(async () => {
    gateway = await startTestGateway();
  });

  test('leave the gateway as a digest only, and are looked up once', async () => {
    const asked: unknown[] = [];
    gateway.fakes.messaging.answer(keyResolve, (request) => {
      asked.push(request);
      return TEST_CALLER;
    });
    await Promise.all([gateway.chat(), gateway.chat()]);
    await gateway.chat();
    expect(asked).toEqual([{ keyDigest: createHash('sha256').update(TEST_KEY).digest('hex') }]);
    expect(JSON.stringify([gateway.fakes.reserves, gateway.fakes.opened, asked])).not.toContain(TEST_KEY);
  });

  test('that are revoked are refused at once [auth-invalid-key]', async () => {
    expect((await gateway.chat()).status).toBe(200);
    gateway.fakes.refuseKeys();
    expect((await gateway.chat()).status).toBe(200);
    gateway.fakes.messaging.publish(keyChanged, { projectId: TEST_CALLER.projectId, keyId: TEST_CALLER.keyId });
    expect((await gateway.chat()).status).toBe(401);
  });

  test.each([
    ['/v1/messages', 'x-api-key: <API_KEY>'],
    ['/v1/messages/count_tokens', 'x-api-key: <API_KEY>'],
    ['/v1/chat/completions', 'Authorization: Bearer <API_KEY>'],
    ['/v1/responses', 'Authorization: Bearer <API_KEY>'],
  ])('that are missing at %s cause an error that names the header %s [auth-invalid-key]', async (path, header) => {
    expect(readError(await gateway.ask(path, { body: {} }))).toMatchObject({
      type: 'authentication_error',
      message: `No API key was sent. Send it in the header "${header}".`,
    });
  });

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  test.each([
    ['an empty x-api-key', { 'x-api-key': '', ...bearer(TEST_KEY) }],
    ['an empty Bearer', { 'x-api-key': TEST_KEY, ...bearer('') }],
    ['the key of another service as x-api-key', { 'x-api-key': 'sk-ant-1', ...bearer(TEST_KEY) }],
    ['the key of another service as Bearer', { 'x-api-key': TEST_KEY, ...bearer('sk-1') }],
    ['the same key in both headers', { 'x-api-key': TEST_KEY, ...bearer(TEST_KEY) }],
    ['another scheme of authorization', { 'x-api-key': TEST_KEY, authorization: 'Basic abc' }],
  ])('are accepted next to %s [D1]', async (_title, headers) => {
    expect((await gateway.ask('/v1/models', { headers })).status).toBe(200);
  });

  test('that differ are refused, because the account to bill is ambiguous [D1]', async () => {
    const answer = await gateway.ask('/v1/models', { headers: { 'x-api-key': TEST_KEY, ...bearer(`${API_KEY_PREFIX}another`) } });
    expect([answer.status, readError(answer)]).toEqual([
      401,
      {
        type: 'authentication_error',
        code: 'invalid_api_key',
        message: 'Two different API keys were sent, in "x-api-key" and in "Authorization". Send one of them.',
        param: null,
      },
    ]);
  });

  test('are checked before the body is sent', async () => {
    gateway.fakes.refuseKeys();
    const socket = await gateway.connect();
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\ncontent-length: 500\r\nexpect: 100-continue\r\n\r\n`);
    expect(await readText(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });
});
