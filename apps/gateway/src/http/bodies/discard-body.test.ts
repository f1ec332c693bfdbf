import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { canDiscardBody, discardBody } from './discard-body.js';

const server = createServer();
const clients: Socket[] = [];

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
afterAll(() => void server.close());

/** Opens a request whose body is not complete. */
async function open(framing: string): Promise<{ client: Socket; request: IncomingMessage }> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  clients.push(client);
  client.write(`POST / HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n`);
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  return { client, request };
}

test('a body is read to its end', async () => {
  const { client, request } = await open('content-length: 100000');
  const done = discardBody(request);
  client.write(Buffer.alloc(100_000));
  await done;
  expect([request.complete, client.destroyed]).toEqual([true, false]);
});

test.each([
  ['many bytes', Buffer.from(`100000\r\n${'x'.repeat(0x100000)}\r\n`)],
  ['many small chunks', Buffer.from('1\r\nx\r\n'.repeat(10_000))],
])('a client that sends %s without end is disconnected', async (_name, piece) => {
  const { client, request } = await open('transfer-encoding: chunked');
  const done = discardBody(request);
  let sent = 0;
  const more = (): void => {
    while (!client.destroyed && client.write(piece)) sent += piece.length;
    sent += piece.length;
  };
  client.on('drain', more);
  more();
  await done;
  expect(request.complete).toBe(false);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test('at most 256 bodies are discarded at once', async () => {
  const requests = [];
  while (canDiscardBody()) {
    const { request } = await open('content-length: 10');
    requests.push(discardBody(request));
  }
  expect(requests).toHaveLength(256);
  clients[0]?.destroy();
  await requests[0];
  expect(canDiscardBody()).toBe(true);
});
