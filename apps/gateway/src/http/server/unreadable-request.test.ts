import { TEST_KEY } from '#testing/fake-services.js';
import { CHAT, readText, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';
import { unreadable } from './unreadable-request.js';

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

/** Sends raw bytes and returns the reply. */
async function send(bytes: string): Promise<{ status: number; requestId: string; connection: string; body: unknown }> {
  const socket = await gateway.connect();
  socket.write(bytes);
  const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n');
  const header = (name: string): string => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1] ?? '';
  return {
    status: Number(head.split(' ')[1]),
    requestId: header('x-request-id'),
    connection: header('connection'),
    body: JSON.parse(body),
  };
}

/** The series of `requests_total` that are not 0. */
async function counted(): Promise<unknown[]> {
  const metric = await gateway.registry.getSingleMetric('tollgate_gateway_requests_total')?.get();
  return metric?.values.flatMap(({ labels, value }) => (value === 0 ? [] : [{ ...labels, value }])) ?? [];
}

const HEAD = 'GET / HTTP/1.1\r\nhost: x\r\n';
const CHUNKED = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ntransfer-encoding: chunked\r\n\r\n`;

test.each([
  ['an unknown method', 'PATCHX / HTTP/1.1\r\n\r\n', 400, 'Bad Request'],
  ['headers that are too large', `${HEAD}x-secret: ${'s'.repeat(20_000)}\r\n\r\n`, 431, 'Request Header Fields Too Large'],
])('%s is refused, logged once with its id and counted, and none of its bytes are logged', async (_name, bytes, status, reason) => {
  const { requestId, ...answer } = await send(bytes);
  const message = `The request could not be read: ${reason}.`;
  const error = { message, type: 'invalid_request_error', param: null, code: 'invalid_request' };
  expect(answer).toEqual({ status, connection: 'close', body: { error } });
  const lines = gateway.logged.filter(({ msg }) => msg === 'request');
  const [{ level, time, totalMs, ...line } = { msg: '' }] = lines;
  expect([lines.length, line]).toEqual([
    1,
    {
      requestId,
      traceId: requestId.slice('req_'.length),
      clientAddress: '127.0.0.1',
      route: 'unknown',
      status,
      code: 'invalid_request',
      msg: 'request',
    },
  ]);
  expect(await counted()).toEqual([{ route: 'unknown', status, code: 'invalid_request', value: 1 }]);
});

test.each([
  ['a chunk without a size', `${CHUNKED}zz\r\n`, 400, 'invalid_request'],
  ['a chunk with endless extensions', `${CHUNKED}1;${'x'.repeat(20_000)}`, 413, 'request_too_large'],
])('%s fails the request that it belongs to, with its id and route', async (_name, bytes, status, code) => {
  const { requestId, ...answer } = await send(bytes);
  expect(answer).toMatchObject({ status, connection: 'close', body: { error: { code, type: 'invalid_request_error' } } });
  await until(() => gateway.logged.some(({ msg }) => msg === 'request'));
  expect(gateway.logged.filter(({ msg }) => msg === 'request')).toMatchObject([{ requestId, method: 'POST', route: CHAT, status, code }]);
  expect(await counted()).toEqual([{ route: CHAT, status, code, value: 1 }]);
});

test('a connection without a request is not logged or counted', async () => {
  const socket = await gateway.connect();
  socket.end();
  await readText(socket);
  await gateway.close();
  expect([gateway.logged.filter(({ msg }) => msg === 'request'), await counted()]).toEqual([[], []]);
});

test('a request that does not arrive in time is 408', () => {
  expect(unreadable('ERR_HTTP_REQUEST_TIMEOUT')).toMatchObject({
    status: 408,
    code: 'invalid_request',
    message: 'The request could not be read: Request Timeout.',
  });
});
