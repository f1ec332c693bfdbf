import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { startTestServer } from '../../../test/test-http-server.js';
import { stopError } from '../../pipeline/reply.js';
import type { GatewayRequest } from '../http-exchange.js';
import { FORCED_CLOSE_MS } from './http-server.js';

const GRACE_MS = 5_000;

test('an unused connection does not delay the shutdown', async () => {
  const { server, port } = await startTestServer((_request, response) => void response.end());
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const begunAt = performance.now();
  await server.close(GRACE_MS);
  expect(performance.now() - begunAt).toBeLessThan(GRACE_MS / 2);
});

test('a request that has begun to arrive is served during the shutdown', async () => {
  const { server, port } = await startTestServer((_request, response) => void response.end('done'));
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /v1/models HT');
  await once(socket, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 300));
  const closed = server.close(GRACE_MS);
  socket.write('TP/1.1\r\nhost: test\r\n\r\n');
  expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1.1 200 OK.*done/s);
  await closed;
});

test('an incomplete request is dropped after the grace', async () => {
  const { server, port } = await startTestServer((_request, response) => void response.end());
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /v1/models HT');
  await once(socket, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 100));
  const begunAt = performance.now();
  await server.close(1);
  expect(performance.now() - begunAt).toBeLessThan(FORCED_CLOSE_MS / 2);
});

test('a client that does not read does not delay the shutdown: its connection is closed and its error logged', async () => {
  const reply = Buffer.alloc(30_000_000, 'x');
  const asked = Promise.withResolvers<void>();
  const { server, port, logged } = await startTestServer((request, response) => {
    const { exchange } = request as GatewayRequest;
    response.write(reply);
    exchange.stopped.addEventListener('abort', () => {
      exchange.error = stopError(exchange.stopped);
      response.end(reply);
    });
    asked.resolve();
  });
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write('GET /v1/models HTTP/1.1\r\nhost: test\r\n\r\n');
  await asked.promise;
  await server.close(1, 100);
  expect(logged).toEqual([{ status: 200, code: 'model_unavailable' }]);
  socket.destroy();
});

test('a request that waits for another service gets its error before its connection is closed', async () => {
  const asked = Promise.withResolvers<void>();
  const { server, port, logged } = await startTestServer(() => asked.resolve());
  const answer = fetch(`http://127.0.0.1:${port}/v1/messages`, { method: 'POST' });
  await asked.promise;
  await server.close(1, 50);
  expect([(await answer).status, await (await answer).json()]).toMatchObject([503, { error: { type: 'overloaded_error' } }]);
  expect(logged).toEqual([{ status: 503, code: 'model_unavailable' }]);
});

test('an unreadable request is refused, and its connection closed even if the client keeps it open', async () => {
  const { server, port } = await startTestServer((_request, response) => void response.end());
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write('PATCHX / HTTP/1.1\r\n\r\n');
  expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  const begunAt = performance.now();
  await server.close(GRACE_MS);
  expect(performance.now() - begunAt).toBeLessThan(GRACE_MS / 2);
  socket.destroy();
});

describe('at the end of a reply', () => {
  const REPLY = Buffer.alloc(30_000_000, 'x');

  async function ask(drainMs: number) {
    const answered = Promise.withResolvers<ServerResponse>();
    const { server, port } = await startTestServer(
      (_request, response) => {
        response.end(REPLY);
        answered.resolve(response);
      },
      { drainMs },
    );
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => undefined);
    socket.write('GET /v1/models HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n');
    return { server, socket, response: await answered.promise };
  }

  test('a client that does not read is disconnected', async () => {
    const { server, socket, response } = await ask(100);
    await once(response, 'close');
    await server.close(GRACE_MS);
    expect(response.writableFinished).toBe(false);
    socket.destroy();
  });

  test('a client that reads slowly gets the whole reply', async () => {
    const { server, socket } = await ask(1_000);
    let taken = 0;
    let due = 0;
    socket.on('data', (piece) => {
      taken += piece.length;
      if (taken >= due) socket.pause();
    });
    const pace = setInterval(() => {
      due = taken + REPLY.length / 20;
      socket.resume();
    }, 80);
    await once(socket, 'close');
    clearInterval(pace);
    await server.close(GRACE_MS);
    expect(taken).toBeGreaterThan(REPLY.length);
  });
});
