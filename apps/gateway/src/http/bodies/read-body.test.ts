import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { keyResolve } from '#contracts/billing/keys.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { FakeEventStream } from '#testing/fake-messaging.js';
import { HELLO, TEST_CALLER, TEST_KEY, testKey } from '#testing/fake-services.js';
import {
  CHAT,
  CHAT_BODY,
  JSON_TYPE,
  KEY,
  readError,
  readText,
  startTestGateway,
  type TestGateway,
  until,
} from '../../../test/test-gateway.js';

let gateway: TestGateway;

const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await gateway.close();
});

async function bytesInFlight(): Promise<number> {
  return Number(/^tollgate_gateway_body_bytes_in_flight (\d+)$/m.exec(await gateway.registry.metrics())?.[1]);
}

describe('bodies', () => {
  test('that are too large are refused to a client that writes before it reads', async () => {
    gateway = await startTestGateway({ bodyBytesMax: 10_000 });
    for (const framing of ['content-length: 20000000', 'transfer-encoding: chunked']) {
      const socket = await gateway.connect();
      socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\nconnection: close\r\n${framing}\r\n\r\n`);
      const piece = Buffer.alloc(1_000_000, 'x');
      for (let sent = 0; sent < 20; sent++) {
        if (framing.includes('chunked')) socket.write('f4240\r\n');
        if (!socket.write(piece)) await once(socket, 'drain');
        if (framing.includes('chunked')) socket.write('\r\n');
      }
      if (framing.includes('chunked')) socket.write('0\r\n\r\n');
      expect(await readText(socket)).toMatch(/^HTTP\/1\.1 413 .*"code":"request_too_large"/s);
    }
  });

  test.each(['application/json', 'text/json', 'Text/JSON; charset=utf-8', 'application/vnd.api+json'])(
    'of the type %s are JSON [json-bodies]',
    async (type) => {
      gateway = await startTestGateway();
      expect((await gateway.chat({}, { 'content-type': type })).status).toBe(200);
    },
  );

  test('at the limit pass [limit-body-size]', async () => {
    gateway = await startTestGateway({ bodyBytesMax: 1_000 });
    const empty = Buffer.byteLength(JSON.stringify({ ...CHAT_BODY, user: '' }));
    expect((await gateway.chat({ user: 'x'.repeat(1_000 - empty) })).status).toBe(200);
    expect((await gateway.chat({ user: 'x'.repeat(1_001 - empty) })).status).toBe(413);
  });

  test('get 100 Continue only when they will be read', async () => {
    gateway = await startTestGateway({ bodyBytesMax: 1_000 });
    const expecting = { ...KEY, ...JSON_TYPE, expect: '100-continue' };
    const continued = async (length: number): Promise<[boolean, number | undefined]> => {
      const request = httpRequest({
        port: gateway.port,
        path: CHAT,
        method: 'POST',
        headers: { ...expecting, 'content-length': String(length) },
      });
      let asked = false;
      request.once('continue', () => {
        asked = true;
        request.end(JSON.stringify(CHAT_BODY).padEnd(length));
      });
      request.flushHeaders();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      request.destroy();
      return [asked, response.statusCode];
    };
    expect(await continued(500)).toEqual([true, 200]);
    expect(await continued(5_000)).toEqual([false, 413]);
  });

  test('in flight are limited for each account, and count with their announced length [limit-body-share]', async () => {
    gateway = await startTestGateway({ bodyBytesMax: 1_000, bodiesInFlightBytesMax: 4_000 });
    const open = async (length: number): Promise<void> => {
      const socket = await gateway.connect();
      const before = await bytesInFlight();
      socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: ${length}\r\n\r\n{`);
      while ((await bytesInFlight()) !== before + length) await delay(2);
      sockets.push(socket);
    };
    await open(900);
    const refused = await gateway.chat({ user: 'x'.repeat(500) });
    expect([refused.status, readError(refused).code, refused.headers['retry-after']]).toEqual([429, 'concurrency_limit', '1']);
    gateway.fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, accountId: '44444444-4444-4444-8444-444444444444' }));
    const another = await gateway.chat({ user: 'x'.repeat(500) }, { authorization: `Bearer ${testKey(7)}` });
    expect(another.status).toBe(200);
  });

  test.each([
    ['content-length: 1000', 'x'.repeat(10)],
    ['transfer-encoding: chunked', 'a\r\nxxxxxxxxxx\r\n'],
  ])('that arrive too slowly are refused with 408 (%s) [limit-body-rate, H-4, H-5]', async (framing, start) => {
    gateway = await startTestGateway({ bodyGraceMs: 500, bodyBytesPerSecondMin: 1_000 });
    const socket = await gateway.connect();
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\n${framing}\r\n\r\n${start}`);
    const text = await readText(socket);
    expect(text).toMatch(/^HTTP\/1\.1 408 .*connection: close\r\n.*"type":"invalid_request_error".*"code":"invalid_request"/is);
    expect(text.match(/^(?:retry-after|x-should-retry): .*(?=\r)/gm)).toEqual(['x-should-retry: true', 'retry-after: 1']);
    expect([await bytesInFlight(), gateway.fakes.applies]).toEqual([0, 0]);
  });

  test('that arrive fast enough are accepted, however long they take [limit-body-rate]', async () => {
    gateway = await startTestGateway({ bodyGraceMs: 500, bodyBytesPerSecondMin: 10 });
    const body = JSON.stringify(CHAT_BODY).padEnd(1_000);
    const socket = await gateway.connect();
    socket.write(
      `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\nconnection: close\r\ncontent-length: 1000\r\n\r\n`,
    );
    socket.write(body.slice(0, 900));
    await delay(1_600); // three rate checks
    socket.write(body.slice(900));
    expect(await readText(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('in flight are limited in total, and count until their request has ended [limit-body-budget]', async () => {
    gateway = await startTestGateway({ bodiesInFlightBytesMax: 1_024 });
    let running: FakeEventStream<StreamEvent> | undefined;
    gateway.fakes.model = (stream) => {
      running = stream;
    };
    const first = gateway.chat({ user: 'x'.repeat(700) });
    await until(() => running !== undefined);
    const refused = await gateway.chat({ user: 'x'.repeat(700) });
    expect([refused.status, readError(refused).code, refused.headers['retry-after']]).toEqual([503, 'model_unavailable', '1']);
    running?.write(...HELLO);
    running?.end();
    expect((await first).status).toBe(200);
    gateway.fakes.model = (stream) => {
      stream.write(...HELLO);
      stream.end();
    };
    expect((await gateway.chat({ user: 'x'.repeat(700) })).status).toBe(200);
  });

  test('that a client does not finish sending cost nothing and are released', async () => {
    gateway = await startTestGateway({ bodiesInFlightBytesMax: 1_024 });
    const socket = await gateway.connect();
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: 1000\r\n\r\n${'x'.repeat(900)}`);
    await delay(20);
    socket.destroy();
    await until(() => socket.closed);
    let answer = await gateway.chat({ user: 'x'.repeat(700) });
    while (answer.status === 503) answer = await gateway.chat({ user: 'x'.repeat(700) });
    expect([answer.status, gateway.fakes.reserves.length]).toEqual([200, 1]);
  });
});
