import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { limitConnections } from './connection-shares.js';

let server: Server;
afterEach(() => server.close());

/** Opens a connection from an address of loopback. Returns true when a request on it is answered. */
async function isServed(localAddress: string, sockets: Socket[]): Promise<boolean> {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  sockets.push(socket);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  return Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
}

test.each([
  ['a quarter of the connections, and others get theirs', 0, [true, true, false, true]],
  ['all of them behind a trusted proxy, which has those of all clients', 1, [true, true, true, true]],
])('one address gets %s [sec-panel-shares]', async (_what, trustedProxyHops, expected) => {
  server = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1');
  limitConnections(server, 8, trustedProxyHops);
  await once(server, 'listening');
  const sockets: Socket[] = [];
  const served: boolean[] = [];
  for (const address of ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.2']) served.push(await isServed(address, sockets));
  for (const socket of sockets) socket.destroy();
  expect(served).toEqual(expected);
});
