import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { readText, until } from '../../../test/test-gateway.js';
import { startTestServer } from '../../../test/test-http-server.js';
import type { GatewayRequest } from '../http-exchange.js';
import { PIPELINED_MAX } from './connection.js';

const GRACE_MS = 5_000;

/** Starts a server whose requests the test answers, in the order in which they are served. */
async function byHand() {
  const served: { url: string; response: ServerResponse }[] = [];
  const started = await startTestServer((request, response) => void served.push({ url: request.url ?? '', response }));
  return {
    ...started,
    served,
    urls: () => served.map(({ url }) => url),
    /** Waits for the request at this position, and answers it with its URL in brackets. */
    answer: async (place: number): Promise<void> => {
      await until(() => served.length > place);
      served[place]?.response.end(`[${served[place]?.url}]`);
    },
  };
}

const get = (url: string, headers = ''): string => `GET ${url} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;
const LAST = 'connection: close\r\n';
const readBodies = (text: string): string[] => [...text.matchAll(/\[(\/\w+)\]/g)].map(([, url = '']) => url);

test('pipelined requests are served one at a time, and answered in order [limit-pipelining]', async () => {
  const { server, port, answer, urls } = await byHand();
  const socket = connect(port, '127.0.0.1');
  socket.write(get('/a') + get('/b') + get('/c', LAST));
  const text = readText(socket);
  const servedBeforeAnswer: number[] = [];
  for (const place of [0, 1, 2]) {
    await until(() => urls().length > place);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    servedBeforeAnswer.push(urls().length);
    await answer(place);
  }
  expect([servedBeforeAnswer, readBodies(await text)]).toEqual([
    [1, 2, 3],
    ['/a', '/b', '/c'],
  ]);
  await server.close(GRACE_MS);
});

test('each pipelined request runs in its own turn of the event loop', async () => {
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  count();
  const turns: number[] = [];
  const { server, port } = await startTestServer((_request, response) => {
    turns.push(turn);
    response.end();
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(get('/a').repeat(9) + get('/a', LAST));
  await readText(socket);
  isOver = true;
  expect([turns.length, new Set(turns).size]).toEqual([10, 10]);
  await server.close(GRACE_MS);
});

test('a probe waits for its position too', async () => {
  const { server, port, answer } = await byHand();
  const socket = connect(port, '127.0.0.1');
  socket.write(get('/a') + get('/livez') + get('/b', LAST));
  const text = readText(socket);
  await answer(0);
  await answer(1);
  expect((await text).match(/\/a|\/b|ok/g)).toEqual(['/a', 'ok', '/b']);
  await server.close(GRACE_MS);
});

test('a client that pipelines too many requests gets replies to the accepted ones, the last with `connection: close`, and no more is parsed [limit-pipelining]', async () => {
  let parsed = 0;
  const count = (): void => void parsed++;
  subscribe('http.server.request.start', count);
  const { server, port } = await startTestServer((_request, response) => void response.end('[/a]'));
  const socket = connect(port, '127.0.0.1');
  socket.write(get('/a').repeat(500));
  const text = await readText(socket);
  unsubscribe('http.server.request.start', count);
  expect([parsed, readBodies(text).length, text.match(/connection: close/gi)?.length]).toEqual([PIPELINED_MAX + 1, PIPELINED_MAX + 1, 1]);
  await server.close(GRACE_MS);
});

test('an unreadable request is refused after the replies to earlier requests', async () => {
  const { server, port, answer, logged } = await byHand();
  const socket = connect(port, '127.0.0.1');
  socket.write(`${get('/a')}${get('/b')}PATCHX / HTTP/1.1\r\n\r\n`);
  const text = readText(socket);
  await answer(0);
  await answer(1);
  expect((await text).match(/HTTP\/1\.1 \d+|\/\w+(?=\])/g)).toEqual(['HTTP/1.1 200', '/a', 'HTTP/1.1 200', '/b', 'HTTP/1.1 400']);
  expect(logged).toEqual([
    { status: 200, code: undefined },
    { status: 200, code: undefined },
    { status: 400, code: 'invalid_request' },
  ]);
  await server.close(GRACE_MS);
});

test('a waiting request with an unreadable body is stopped when it is served', async () => {
  const served: { exchange: GatewayRequest['exchange']; response: ServerResponse }[] = [];
  const { server, port } = await startTestServer(
    (request, response) => void served.push({ exchange: (request as GatewayRequest).exchange, response }),
  );
  const socket = connect(port, '127.0.0.1');
  socket.write(`${get('/a')}POST /b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`);
  await until(() => served.length === 1);
  await new Promise((resolve) => setImmediate(resolve));
  served[0]?.response.end();
  await until(() => served.length === 2);
  expect(served.map(({ exchange }) => [exchange.isUnreadable, exchange.stopped.aborted])).toEqual([
    [false, false],
    [true, true],
  ]);
  served[1]?.response.end();
  socket.destroy();
  await server.close(GRACE_MS);
});

test('`Expect: 100-continue` is answered in order', async () => {
  const { server, port } = await startTestServer((request, response) => {
    const { exchange } = request as GatewayRequest;
    if (exchange.awaitsContinue) response.writeContinue();
    response.end(`[${request.url}]`);
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(get('/a') + get('/b', `expect: 100-continue\r\n${LAST}`));
  expect((await readText(socket)).match(/HTTP\/1\.1 \d+|\/\w+(?=\])/g)).toEqual([
    'HTTP/1.1 200',
    '/a',
    'HTTP/1.1 100',
    'HTTP/1.1 200',
    '/b',
  ]);
  await server.close(GRACE_MS);
});

test('requests that wait when their client disconnects are never served, and do not delay the shutdown', async () => {
  const { server, port, urls } = await byHand();
  const socket = connect(port, '127.0.0.1');
  socket.write(get('/a') + get('/b') + get('/c'));
  await until(() => urls().length === 1);
  socket.destroy();
  await server.close(GRACE_MS);
  expect([urls(), server.requestsRunning]).toEqual([['/a'], 0]);
});

test('during a shutdown the running request is the last of its connection', async () => {
  const { server, port, answer, urls } = await byHand();
  const socket = connect(port, '127.0.0.1');
  socket.write(get('/a') + get('/b'));
  await until(() => urls().length === 1);
  const text = readText(socket);
  const closed = server.close(GRACE_MS);
  await answer(0);
  expect(await text).toMatch(/connection: close\r\n.*\[\/a\]$/is);
  await closed;
  expect(urls()).toEqual(['/a']);
});

describe('at the limit of connections', () => {
  const CONNECTIONS_MAX = 3;

  async function full() {
    const held: ServerResponse[] = [];
    const started = await startTestServer(
      (request, response) => {
        const { exchange } = request as GatewayRequest;
        if (request.url?.startsWith('/keyed')) exchange.caller = { keyId: 'k', projectId: 'p', accountId: 'a' };
        if (request.url?.endsWith('held')) held.push(response);
        else response.end();
      },
      { connectionsMax: CONNECTIONS_MAX },
    );
    const closed: string[] = [];
    const open = async (name: string, url: string): Promise<void> => {
      const socket = connect(started.port, '127.0.0.1');
      socket.on('error', () => undefined).on('close', () => closed.push(name));
      await once(socket, 'connect');
      const heldBefore = held.length;
      socket.write(get(url));
      if (url.endsWith('held')) await until(() => held.length > heldBefore);
      else await once(socket, 'data');
    };
    return { ...started, open, closed };
  }

  test('the oldest connection without a valid key is replaced, then the longest idle; those that serve a valid key stay [limit-connections]', async () => {
    const { server, port, open, closed } = await full();
    await open('idle with a key', '/keyed');
    await open('in use with a key', '/keyed-held');
    await open('in use without a key', '/held');
    await open('second in use with a key', '/keyed-held');
    await until(() => closed.length === 1);
    await open('third in use with a key', '/keyed-held');
    await until(() => closed.length === 2);
    const late = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(late, 'close');
    expect(closed).toEqual(['in use without a key', 'idle with a key']);
    await server.close(1, 1);
  });
});
