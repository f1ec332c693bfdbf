import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * Starts a collector of traces in this process. It reads what it gets and keeps nothing. With `hangs` it never answers.
 *
 * @param {boolean} hangs
 */
export async function startTraceSink(hangs) {
  const server = createServer((request, response) => request.resume().once('end', () => hangs || response.end())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const stop = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
