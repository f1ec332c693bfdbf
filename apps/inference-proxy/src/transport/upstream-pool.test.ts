import { jest } from '@jest/globals';
import { AddressRefusedError, type Resolver } from '#network/address-guard.js';
import { FaultServer, wholeReply } from '#testing/fault-server.js';
import { upstreamAt } from '../../test/upstream-calls.js';
import { createUpstreamPool } from './upstream-pool.js';

test('the socket connects to the address that was judged [fault-rebinding]', async () => {
  const server = await FaultServer.start(({ socket }) => void socket.end(wholeReply('{}')), { host: '127.0.0.1' });
  const other = await FaultServer.start(({ socket }) => void socket.end(wholeReply('{}')), { host: '127.0.0.2', port: server.port });
  let asked = 0;
  const resolve: Resolver = (_name, done) => done(null, [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }]);
  const pool = createUpstreamPool(upstreamAt(`http://model.example:${server.port}`), resolve);
  for (let n = 0; n < 3; n++) await (await pool.request({ path: '/', method: 'POST', body: '' })).body.dump();
  await pool.destroy();
  expect({ asked, server: server.requests, other: other.requests }).toEqual({ asked: 1, server: 3, other: 0 });
  await Promise.all([server.stop(), other.stop()]);
});

test('DNS rebinding: a later connection goes to an address that was judged again [fault-rebinding]', async () => {
  const server = await FaultServer.start(({ socket }) => void socket.end(wholeReply('{}')), { host: '127.0.0.1' });
  let address = '127.0.0.1';
  const resolve: Resolver = (_name, done) => done(null, [{ address, family: 4 }]);
  const pool = createUpstreamPool(upstreamAt(`http://model.example:${server.port}`), resolve);
  const ask = async (): Promise<number> => {
    const { statusCode, body } = await pool.request({ path: '/', method: 'POST', body: '' });
    await body.dump();
    return statusCode;
  };
  const first = await ask();
  address = '169.254.169.254';
  const now = performance.now.bind(performance);
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 31_000);
  try {
    await expect(ask()).rejects.toThrow(AddressRefusedError);
  } finally {
    clock.mockRestore();
    await pool.destroy();
    await server.stop();
  }
  expect({ first, asked: server.requests }).toEqual({ first: 200, asked: 1 });
});
