import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { Pool } from 'undici';
import type { Resolver } from '#network/address-guard.js';
import { leastMs } from '#testing/least-ms.js';
import { type PostOptions, postStream, type UpstreamReply } from './post-stream.js';
import { createUpstreamPool } from './upstream-pool.js';

let handle: (request: IncomingMessage, response: ServerResponse) => void;

const server = createServer((request, response) => handle(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const pool = poolTo((server.address() as AddressInfo).port);

afterAll(async () => {
  await pool.destroy();
  server.closeAllConnections();
  server.close();
});

function poolTo(port: number, settings: { connectionsMax?: number; allowPrivateNetwork?: boolean; host?: string } = {}): Pool {
  const { connectionsMax = 8, allowPrivateNetwork = true, host = '127.0.0.1' } = settings;
  const timeouts = { connectMs: 1000, firstByteMs: 1000, idleMs: 1000, totalMs: 1000 };
  return createUpstreamPool({ baseUrl: `http://${host}:${port}/v1`, apiKeyEnv: null, connectionsMax, allowPrivateNetwork, timeouts });
}

function post(overrides: Partial<PostOptions> = {}, signal = new AbortController().signal, to = pool): Promise<UpstreamReply> {
  const timeouts = { firstByteMs: 60_000, idleMs: 60_000 };
  return postStream(to, { path: '/v1/x', headers: { 'x-a': 'b' }, body: 'hello', timeouts, bytesMax: 1e6, ...overrides }, signal);
}

const failure = (kind: string, code: string) => expect.objectContaining({ name: 'UpstreamFailure', kind, code });

test('posts the body, asks for no compression and returns head and body', async () => {
  let seen: unknown;
  handle = (request, response) => {
    void request.toArray().then((body) => {
      const { method, url, headers } = request;
      seen = { method, url, body: body.join(''), accepted: headers['accept-encoding'], own: headers['x-a'] };
      response.writeHead(201, { 'x-reply': 'yes' }).end('world');
    });
  };
  const reply = await post();
  expect({ status: reply.status, header: reply.headers['x-reply'], body: (await reply.readAll('account')).toString(), seen }).toEqual({
    status: 201,
    header: 'yes',
    body: 'world',
    seen: { method: 'POST', url: '/v1/x', body: 'hello', accepted: 'identity', own: 'b' },
  });
});

test('many small HTTP chunks that arrive together are read at once', async () => {
  handle = (_request, response) => {
    const frames = Array.from({ length: 50 }, (_, i) => `1\r\n${i % 10}\r\n`).join('');
    response.socket?.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${frames}0\r\n\r\n`);
  };
  const reply = await post();
  const reads: number[] = [];
  for (let chunks = await reply.read(); chunks !== undefined; chunks = await reply.read()) reads.push(chunks.length);
  expect(reads.reduce((sum, n) => sum + n, 0)).toBe(50);
  expect(reads.length).toBeLessThanOrEqual(3);
});

test('a redirect is returned and not followed', async () => {
  let calls = 0;
  handle = (_request, response) => {
    calls += 1;
    response.writeHead(302, { location: '/elsewhere' }).end();
  };
  const reply = await post();
  await reply.readAll('account');
  expect([reply.status, calls]).toEqual([302, 1]);
});

test('exceeding firstByteMs or idleMs is a timeout, exceeding totalMs a slow reply', async () => {
  handle = () => {};
  await expect(post({ timeouts: { firstByteMs: 60, idleMs: 5000 } })).rejects.toEqual(failure('timeout', 'upstream_timeout'));

  handle = (_request, response) => response.writeHead(200).flushHeaders();
  const headOnly = post({ timeouts: { firstByteMs: 60, idleMs: 5000 } });
  await expect(headOnly.then((reply) => reply.read())).rejects.toEqual(failure('timeout', 'upstream_timeout'));

  handle = (_request, response) => response.write('one');
  const idle = await post({ timeouts: { firstByteMs: 5000, idleMs: 400 } });
  expect((await idle.read())?.join('')).toBe('one');
  await expect(idle.read()).rejects.toEqual(failure('timeout', 'upstream_timeout'));

  handle = (_request, response) => {
    const timer = setInterval(() => response.write('.'), 10);
    response.on('close', () => clearInterval(timer));
  };
  const endless = post({ timeouts: { firstByteMs: 5000, totalMs: 80 } });
  await expect(endless.then((reply) => reply.readAll('account'))).rejects.toEqual(failure('slow', 'upstream_timeout'));

  handle = () => {};
  await expect(post({ timeouts: { totalMs: 60 } })).rejects.toEqual(failure('slow', 'upstream_timeout'));
});

test('any byte restarts idleMs, so keep-alives hold a silent stream open [U-13]', async () => {
  const idleMs = 1_000;
  handle = (_request, response) => {
    const beganAt = performance.now();
    const timer = setInterval(() => {
      response.write(':\n\n');
      if (performance.now() - beganAt < 1.3 * idleMs) return;
      clearInterval(timer);
      response.end('end');
    }, 50);
  };
  const reply = await post({ timeouts: { firstByteMs: 5_000, idleMs } });
  expect((await reply.readAll('account')).toString()).toMatch(/^(:\n\n)+end$/);
});

test('a refused connection is unreachable, and nothing was sent', async () => {
  const closed = createTcpServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const nowhere = poolTo((closed.address() as AddressInfo).port);
  closed.close();
  await expect(post({}, undefined, nowhere)).rejects.toEqual(failure('unreachable', 'model_unavailable'));
  await nowhere.destroy();
});

test('a name that resolves to a private address is not called and is the operator’s fault', async () => {
  const inside = poolTo((server.address() as AddressInfo).port, { allowPrivateNetwork: false, host: 'localhost' });
  await expect(post({}, undefined, inside)).rejects.toMatchObject({
    kind: 'unreachable',
    code: 'model_unavailable',
    isOperatorsFault: true,
    detail: expect.stringMatching(/^ADDRESS_REFUSED localhost is (127.0.0.1|::1), which is a private address/),
  });
  await inside.destroy();
});

test('a closed connection is stale if it was reused, unanswered if it was new', async () => {
  const own = poolTo((server.address() as AddressInfo).port, { connectionsMax: 1 });
  handle = (request) => request.socket.destroy();
  await expect(post({}, undefined, own)).rejects.toEqual(failure('unanswered', 'upstream_error'));
  handle = (_request, response) => response.end('well');
  await (await post({}, undefined, own)).readAll('account');
  handle = (request) => request.socket.destroy();
  await expect(post({}, undefined, own)).rejects.toEqual(failure('stale', 'upstream_error'));
  await own.destroy();
});

test('a connection closed within the reply is broken, after the received bytes', async () => {
  handle = (_request, response) => response.write('some', () => response.socket?.destroy());
  const reply = await post();
  expect((await reply.read())?.join('')).toBe('some');
  await expect(reply.read()).rejects.toEqual(failure('broken', 'upstream_error'));
});

test('endless interim replies are a failure', async () => {
  handle = (_request, response) => {
    for (let count = 0; count < 100; count++) response.writeEarlyHints({ link: '</style.css>; rel=preload' });
  };
  await expect(post()).rejects.toEqual(failure('limit', 'upstream_error'));
});

test('heads and bodies have limits [fault-head-size]', async () => {
  handle = (_request, response) => response.writeHead(200, { 'x-long': 'x'.repeat(15_000), 'x-more': 'x'.repeat(5_000) }).end();
  await expect(post()).rejects.toEqual(failure('limit', 'upstream_error'));

  handle = (_request, response) => response.end('x'.repeat(1001));
  const reply = await post({ bytesMax: 1000 });
  await expect(reply.readAll('account')).rejects.toEqual(failure('limit', 'upstream_error'));
});

test('of many large plain replies, those beyond the shared limit fail, and later ones are read [fault-total-size]', async () => {
  const size = 12 * 1024 * 1024;
  const served: ServerResponse[] = [];
  handle = (_request, response) => {
    served.push(response);
    response.writeHead(200, { 'content-length': size });
    response.write(Buffer.alloc(size - 1, 'x'));
  };
  let refusals = 0;
  let enoughRefused: () => void;
  // Five of them fit into 64 MiB, and none of the eight ends before the others are refused.
  const threeRefused = new Promise<void>((resolve) => (enoughRefused = resolve));
  const readLarge = async (): Promise<number> => {
    const reply = await post({ bytesMax: 2 * size });
    try {
      return (await reply.readAll('account')).length;
    } catch (error) {
      if (++refusals === 3) enoughRefused();
      throw error;
    } finally {
      reply.close(); // otherwise a refused reply keeps its socket, and the server never closes
    }
  };
  const read = Promise.allSettled(Array.from({ length: 8 }, readLarge));
  await threeRefused;
  for (const response of served) response.end('x');
  const refused = (await read).filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeLessThan(8);
  expect(refused).toEqual(refused.map(() => ({ status: 'rejected', reason: failure('limit', 'model_capacity') })));
  handle = (_request, response) => response.end(Buffer.alloc(size, 'x'));
  expect(await readLarge()).toBe(size);
});

describe('an abort closes the socket within 250 ms', () => {
  async function closedAfterAbort(abortWhen: (request: Promise<UpstreamReply>) => Promise<unknown>): Promise<number> {
    const aborting = new AbortController();
    const asked = once(server, 'request') as Promise<[IncomingMessage]>;
    const request = post({}, aborting.signal);
    request.catch(() => {});
    const [incoming] = await asked;
    const closed = once(incoming.socket, 'close');
    await abortWhen(request);
    const started = performance.now();
    aborting.abort(new Error('client left'));
    await closed;
    await expect(request.then((reply) => reply.read())).rejects.toThrow('client left');
    return performance.now() - started;
  }

  test('before the head', async () => {
    handle = () => {};
    expect(await leastMs(250, () => closedAfterAbort(async () => {}))).toBeLessThan(250);
  });

  test('within the body', async () => {
    handle = (_request, response) => response.write('one');
    expect(await leastMs(250, () => closedAfterAbort(async (request) => (await request).read()))).toBeLessThan(250);
  });

  test.each(['http', 'https'])('while a connection is being made (%s)', async (protocol) => {
    const reached = Promise.withResolvers<Socket>();
    const silent = createTcpServer((socket) => reached.resolve(socket));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const leaving = new AbortController();
    // An unresolved name, or an unanswered handshake.
    const timeouts = { connectMs: 20_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 20_000 };
    const closed = Promise.withResolvers<void>();
    const resolve: Resolver = (_name, done) => (protocol === 'https' ? done(null, [{ address: '127.0.0.1', family: 4 }]) : undefined);
    const own = createUpstreamPool(
      { baseUrl: `${protocol}://model.example:${port}`, apiKeyEnv: null, connectionsMax: 1, allowPrivateNetwork: true, timeouts },
      resolve,
    );
    own.on('connectionError', () => closed.resolve());
    const answer = post({ timeouts }, leaving.signal, own);
    if (protocol === 'https') await reached.promise;
    leaving.abort(new Error('left'));
    await expect(answer).rejects.toThrow('left');
    await closed.promise;
    if (protocol === 'https') await once((await reached.promise).resume(), 'close');
    await own.close();
    silent.close();
  });

  test('a signal that has already fired sends nothing', async () => {
    handle = () => {
      throw new Error('called');
    };
    await expect(post({}, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  });
});

test('a reader that stops reading stops the upstream: at most 64 KiB and one read are buffered [fault-memory]', async () => {
  let written = 0;
  let drained = true;
  handle = (_request, response) => {
    const piece = Buffer.alloc(16_384, 'x');
    const fill = (): void => {
      drained = true;
      while (drained && written < 64e6) {
        written += piece.length;
        drained = response.write(piece);
      }
    };
    response.on('drain', fill);
    fill();
  };
  const reply = await post({ bytesMax: 1e9, timeouts: { firstByteMs: 5000, idleMs: 50 } });
  await new Promise((resolve) => setTimeout(resolve, 300)); // longer than idleMs: a slow reader is not an idle upstream
  const held = (await reply.read()) ?? [];
  expect(held.reduce((sum, chunk) => sum + chunk.length, 0)).toBeLessThanOrEqual(128 * 1024 + 1024);
  expect(written).toBeLessThan(16e6); // the rest is in kernel buffers, and the writer has to wait
  expect((await reply.read())?.length).toBeGreaterThan(0); // and it continues when read
  reply.close();
});

describe('a deadline holds also while the reader pauses the socket', () => {
  beforeEach(() => {
    handle = (_request, response) => {
      let pieces = 0;
      const timer = setInterval(() => {
        if (++pieces < 60) response.write(Buffer.alloc(40_000, 'x'));
        else response.end();
      }, 25);
      response.on('close', () => clearInterval(timer));
    };
  });

  test('a plain reply', async () => {
    const reply = await post({ bytesMax: 1e9, timeouts: { firstByteMs: 5000, totalMs: 300 } });
    await expect(reply.readAll('account')).rejects.toEqual(failure('slow', 'upstream_timeout'));
  });

  test('the rest of a stream', async () => {
    const reply = await post({ bytesMax: 1e9 });
    reply.setDeadline(300);
    await expect(reply.readAll('account')).rejects.toEqual(failure('timeout', 'upstream_timeout'));
  });
});
