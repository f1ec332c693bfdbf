import { once } from 'node:events';
import { connect } from 'node:net';
import type { AccessLog } from './access-log.js';
import { HttpServer } from './http-server.js';

const GRACE_MS = 5_000;

async function start(handler: ConstructorParameters<typeof HttpServer>[0]): Promise<{ server: HttpServer; port: number }> {
  const server = new HttpServer(handler, { write: () => undefined } as unknown as AccessLog, 100);
  return { server, port: await server.listen(0, '127.0.0.1') };
}

test('a connection that never asked for anything does not hold up the shutdown', async () => {
  const { server, port } = await start((_request, response) => void response.end());
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const begunAt = performance.now();
  await server.close(GRACE_MS);
  expect(performance.now() - begunAt).toBeLessThan(GRACE_MS / 2);
});

test('what runs at the shutdown is finished, however little of the request has come', async () => {
  const { server, port } = await start((_request, response) => void response.end('done'));
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HT');
  await once(socket, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 300));
  const closed = server.close(GRACE_MS);
  socket.write('TP/1.1\r\nhost: test\r\n\r\n');
  expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1.1 200 OK.*done/s);
  await closed;
});
