import { createHash } from 'node:crypto';
import { keyChanged } from '#contracts/billing/events.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { CHAT, errorOf, startTestGateway, type TestGateway, textOf } from '../test-gateway.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

describe('keys', () => {
  beforeEach(async () => {
    gateway = await startTestGateway();
  });

  test('leave the gateway as a digest only, and are asked for once', async () => {
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

  test('that were revoked are refused at once', async () => {
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
  ])('that are missing on %s are asked for in the header %s', async (path, header) => {
    expect(errorOf(await gateway.ask(path, { body: {} }))).toMatchObject({
      type: 'authentication_error',
      message: `No API key was sent. Send it in the header "${header}".`,
    });
  });

  test('are checked before the body is sent', async () => {
    gateway.fakes.refuseKeys();
    const socket = await gateway.connect();
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\ncontent-length: 500\r\nexpect: 100-continue\r\n\r\n`);
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });
});
