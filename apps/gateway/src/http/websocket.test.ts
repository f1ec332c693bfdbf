import { once } from 'node:events';
import { request } from 'node:http';
import { KEY, startTestGateway } from '../../test/test-gateway.js';

const gateway = await startTestGateway();
afterAll(() => gateway.close());

const HANDSHAKE = { connection: 'Upgrade', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };

async function shake(path: string, headers: Record<string, string>, method = 'GET') {
  const sent = request(`${gateway.url}${path}`, { method, headers: { ...KEY, ...HANDSHAKE, ...headers } });
  sent.end();
  const [response] = await once(sent, 'response');
  response.resume();
  return response;
}

test.each(['websocket', 'WebSocket', 'h2c, websocket'])(
  'a handshake for %s is refused with 426 and what to speak instead [client-websocket]',
  async (upgrade) => {
    const response = await shake('/v1/responses', { upgrade });
    expect(response.statusCode).toBe(426);
    expect(response.headers).toMatchObject({ upgrade: 'HTTP/1.1', connection: 'upgrade, close', 'x-should-retry': 'false' });
    expect(response.headers).not.toHaveProperty('allow');
  },
);

test('it reaches neither a body nor billing, and is logged and counted once [client-websocket]', async () => {
  const counter = gateway.registry.getSingleMetric('tollgate_gateway_requests_total');
  const count = async () =>
    (await counter?.get())?.values.find(({ labels }) => labels.status === 426 && labels.route === '/v1/responses')?.value;
  const [before = 0, logged] = [await count(), gateway.logged.length];
  await shake('/v1/responses', { upgrade: 'websocket' });
  expect(await count()).toBe(before + 1);
  expect(gateway.logged.slice(logged)).toMatchObject([
    { level: 30, method: 'GET', route: '/v1/responses', status: 426, code: 'invalid_request' },
  ]);
  expect(gateway.fakes.reserves).toEqual([]);
});

test('a WebSocket client fails at once [client-websocket]', async () => {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`);
  const closed = once(socket, 'close');
  await once(socket, 'error');
  await closed;
  expect(socket.readyState).toBe(WebSocket.CLOSED);
});

test.each<[string, string, Record<string, string>, string, number]>([
  ['another protocol', '/v1/responses', { upgrade: 'h2c' }, 'GET', 405],
  ['an unknown path', '/v1/realtime', { upgrade: 'websocket' }, 'GET', 404],
  ['a POST', '/v1/responses', { upgrade: 'websocket', 'content-type': 'application/json' }, 'POST', 400],
])('%s is answered as without the header', async (_what, path, headers, method, status) => {
  expect((await shake(path, headers, method)).statusCode).toBe(status);
});
