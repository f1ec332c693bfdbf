import { TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { KEY, startTestGateway, type TestGateway, textOf } from '../../test/test-gateway.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

test('a line has the key id, the client address behind trusted proxies, its user agent and its own request id', async () => {
  gateway = await startTestGateway({ trustedProxyHops: 1 });
  const client = { 'x-forwarded-for': '6.6.6.6, 1.2.3.4', 'user-agent': 'an-agent/1.0', 'x-request-id': 'theirs-1' };
  const answer = await gateway.ask('/v1/models', { headers: { ...KEY, ...client } });
  const [{ level, time, totalMs, ...line } = { msg: '' }] = gateway.logged.filter(({ msg }) => msg === 'request');
  expect(line).toEqual({
    requestId: answer.headers['x-request-id'],
    clientRequestId: 'theirs-1',
    clientAddress: '1.2.3.4',
    userAgent: 'an-agent/1.0',
    method: 'GET',
    route: '/v1/models',
    status: 200,
    ...TEST_CALLER,
    msg: 'request',
  });
  expect(answer.headers['x-request-id']).toMatch(/^req_/);
});

test('headers are truncated, and control characters removed', async () => {
  gateway = await startTestGateway();
  const socket = await gateway.connect();
  const head = `GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${TEST_KEY}\r\n`;
  socket.write(`${head}user-agent: a\x85b\tc${'x'.repeat(1_000)}\r\nx-request-id: ${'y'.repeat(1_000)}\r\n\r\n`, 'latin1');
  await textOf(socket);
  const [line] = gateway.logged.filter(({ msg }) => msg === 'request');
  expect([line?.userAgent, line?.clientRequestId, line?.clientAddress]).toEqual([`abc${'x'.repeat(195)}`, 'y'.repeat(100), '127.0.0.1']);
});
