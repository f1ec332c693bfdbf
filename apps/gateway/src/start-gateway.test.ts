import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { keyChanged } from '#contracts/billing/events.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { balanceGet } from '#contracts/billing/money.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { createLogger } from '#observability/logger.js';
import type { FakeEventStream } from '#testing/fake-messaging.js';
import { FakeServices, HELLO, TEST_CALLER, TEST_KEY, TEST_MODEL } from '#testing/fake-services.js';
import { GatewayConfig } from './gateway.config.js';
import { type RunningGateway, startGateway } from './start-gateway.js';

const CHAT = '/v1/chat/completions';
const BODY = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }] };
const KEY = { authorization: `Bearer ${TEST_KEY}` };
const JSON_TYPE = { 'content-type': 'application/json' };

let fakes: FakeServices;
let gateway: RunningGateway;

async function start(over: Partial<GatewayConfig> = {}): Promise<void> {
  fakes = new FakeServices();
  const config = Object.assign(new GatewayConfig(), { port: 0, shutdownGraceMs: 2_000, ...over });
  gateway = await startGateway({ config, logger: createLogger('test', 'silent'), registry: new Registry(), messaging: fakes.messaging });
}

afterEach(() => gateway.close());

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

interface Ask {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A body that is a string goes out as it is, anything else as JSON. */
async function ask(path: string, { method, headers = {}, body }: Ask = {}): Promise<Answer> {
  const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await open(path, { method, headers, body: sent });
  return { status: response.statusCode ?? 0, headers: response.headers, text: await textOf(response) };
}

function chat(over: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(CHAT, { headers: { ...KEY, ...JSON_TYPE, ...headers }, body: { ...BODY, ...over } });
}

async function open(
  path: string,
  { method, headers, body }: { method?: string; headers?: Record<string, string>; body?: string },
): Promise<IncomingMessage> {
  const request = httpRequest({
    host: '127.0.0.1',
    port: gateway.port,
    path,
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

function openStream(over: object = {}): Promise<IncomingMessage> {
  return open(CHAT, { headers: { ...KEY, ...JSON_TYPE }, body: JSON.stringify({ ...BODY, stream: true, ...over }) });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}

const errorOf = ({ text }: Answer): { message: string; type: string; param?: string; code: string } => JSON.parse(text).error;

/** A raw connection, for what no client library would do. */
async function raw(): Promise<Socket> {
  const socket = connect(gateway.port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** All that comes until the other side ends the connection. Fails when it is reset. */
async function received(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

/** Waits for what comes about by itself, without saying how long that takes. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(2);
}

describe('replies', () => {
  beforeEach(() => start());

  test('a plain reply is whole, sized and typed, and names its request (H-1, H-3)', async () => {
    const { status, headers, text } = await chat();
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      object: 'chat.completion',
      model: 'test-model',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
    });
    const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers;
    const requestId = String(headers['x-request-id']);
    expect(requestId).toMatch(/^req_[0-9a-f]{32}$/);
    expect(rest).toEqual({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      'x-request-id': requestId,
      'request-id': requestId,
    });
    expect(fakes.reserves[0]?.requestId).toBe(requestId);
  });

  test('a stream has the headers that keep it a stream (H-2, H-3)', async () => {
    const { status, headers, text } = await chat({ stream: true });
    expect(status).toBe(200);
    const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers;
    expect(rest).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked',
      'x-request-id': fakes.reserves[0]?.requestId,
      'request-id': fakes.reserves[0]?.requestId,
    });
    expect(text).toMatch(/^data: \{.*"content":"Hel".*\n\ndata: \[DONE\]\n\n$/s);
  });

  test('models: the list, one by its id, encoded or not, and none (spec 2.1, L-3, L-4)', async () => {
    const model = (id: string) => ({ object: 'model', id, created: 1_750_000_000, owned_by: 'tests' });
    const list = await ask('/v1/models?limit=1000', { headers: KEY });
    expect(JSON.parse(list.text)).toEqual({ object: 'list', data: [model('test-model'), model('vision/model')] });
    expect(JSON.parse((await ask('/v1/models/vision%2Fmodel', { headers: { 'x-api-key': TEST_KEY } })).text)).toEqual(
      model('vision/model'),
    );
    const none = await ask('/v1/models/gpt-4o', { headers: KEY });
    expect([none.status, errorOf(none).code, none.headers['x-should-retry']]).toEqual([404, 'model_not_found', 'false']);
  });

  test('the balance has the fields of spec 2.2 and no others', async () => {
    const balance = {
      object: 'balance',
      currency: 'USD',
      balance_pico_usd: '12500000000000',
      balance_usd: '12.50',
      reserved_pico_usd: '0',
      available_pico_usd: '12500000000000',
      topup_balance_pico_usd: '12500000000000',
      plan_balance_pico_usd: '0',
      plan_expires_at: null,
    } as const;
    const asked: unknown[] = [];
    fakes.messaging.answer(balanceGet, (request) => {
      asked.push(request);
      return { ...balance, expiredHeld: '5' };
    });
    const answer = await ask('/v1/balance', { headers: KEY });
    expect([answer.status, JSON.parse(answer.text), asked]).toEqual([200, balance, [{ accountId: TEST_CALLER.accountId }]]);
  });

  test.each([
    ['GET', '/'],
    ['HEAD', '/'],
    ['GET', '/livez'],
    ['GET', '/readyz'],
  ])('%s %s is 200 without a key', async (method, path) => {
    const { status, headers, text } = await ask(path, { method });
    expect([status, headers['content-type'], text]).toEqual([200, 'application/json', method === 'HEAD' ? '' : '{"status":"ok"}']);
  });

  test('many requests on one connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const stream of [false, true, false, true]) {
      const request = httpRequest({ port: gateway.port, path: CHAT, method: 'POST', headers: { ...KEY, ...JSON_TYPE }, agent });
      request.end(JSON.stringify({ ...BODY, stream }));
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      expect(await textOf(response)).toMatch(stream ? /\[DONE\]\n\n$/ : /^\{.*\}$/);
    }
    agent.destroy();
    expect(fakes.settles).toHaveLength(4);
  });
});

describe('the order of refusals', () => {
  beforeEach(() => start({ bodyBytesMax: 2_000 }));

  const large = JSON.stringify({ ...BODY, model: 'x'.repeat(3_000) });
  const zipped = { 'content-encoding': 'gzip' };
  const rows: [name: string, path: string, ask: Ask, ...expected: [status: number, code: string, param?: string]][] = [
    ['an unknown path, before its key', '/v1/nothing', { body: large }, 404, 'invalid_request'],
    ['a wrong method, before its key', CHAT, { method: 'PUT', body: large }, 405, 'invalid_request'],
    ['no key, before the size', CHAT, { body: large }, 401, 'invalid_api_key'],
    ['a key of another form', CHAT, { headers: { authorization: 'Basic abc' }, body: large }, 401, 'invalid_api_key'],
    ['a key in a header of another format', CHAT, { headers: { 'x-api-key': TEST_KEY }, body: large }, 401, 'invalid_api_key'],
    ['size, before the type', CHAT, { headers: { ...KEY, 'content-type': 'text/plain' }, body: large }, 413, 'request_too_large'],
    ['type, before JSON', CHAT, { headers: { ...KEY, 'content-type': 'text/plain' }, body: '{' }, 415, 'invalid_request'],
    ['compression (H-10)', CHAT, { headers: { ...KEY, ...JSON_TYPE, ...zipped }, body: '{' }, 415, 'invalid_request'],
    [
      'another charset',
      CHAT,
      { headers: { ...KEY, 'content-type': 'application/json; charset=utf-16' }, body: '{' },
      415,
      'invalid_request',
    ],
    ['JSON, before fields', CHAT, { headers: { ...KEY, ...JSON_TYPE }, body: '{"model": }' }, 400, 'invalid_json'],
    ['an empty body', CHAT, { headers: { ...KEY, ...JSON_TYPE }, body: '' }, 400, 'invalid_json'],
    [
      'fields, before the model',
      CHAT,
      { headers: { ...KEY, ...JSON_TYPE }, body: { model: 'gpt', messages: 1 } },
      400,
      'invalid_request',
      'messages',
    ],
    [
      'the model, before its context',
      CHAT,
      { headers: KEY, body: { ...BODY, model: 'gpt', max_tokens: 9_999 } },
      404,
      'model_not_found',
      'model',
    ],
    [
      'the context, before funds',
      CHAT,
      { headers: KEY, body: { ...BODY, messages: [{ role: 'user', content: 'x'.repeat(1_700) }], model: 'tiny' } },
      400,
      'context_length_exceeded',
    ],
  ];
  test.each(rows.map(([name, path, request, ...expected]) => ({ name, path, request, expected })))(
    '$name',
    async ({ path, request, expected }) => {
      const [status, code, param] = expected;
      fakes.models.push({ ...TEST_MODEL, id: 'tiny', contextTokens: 600 });
      fakes.messaging.reconnect();
      await delay(0);
      const answer = await ask(path, request);
      expect([answer.status, errorOf(answer).code, errorOf(answer).param ?? undefined]).toEqual([status, code, param]);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.headers['x-request-id']).toMatch(/^req_/);
      expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
      expect(answer.headers['x-should-retry']).toBe([401, 402, 403, 404, 413].includes(status) ? 'false' : undefined);
      expect([fakes.applies, fakes.opened.length]).toEqual([0, 0]);
    },
  );

  test('an unknown path and a wrong method say what there is', async () => {
    expect(errorOf(await ask('/v1/nothing?x=1'))).toEqual({
      message: 'There is nothing at GET "/v1/nothing".',
      type: 'not_found_error',
      code: 'invalid_request',
      param: null,
    });
    const wrong = await ask(CHAT, { headers: KEY });
    expect([wrong.headers.allow, errorOf(wrong).type]).toEqual(['POST', 'invalid_request_error']);
    expect((await ask('/v1/models', { method: 'OPTIONS' })).headers).toMatchObject({ allow: 'GET, HEAD' });
  });

  test('billing decides last, and its refusals carry when to come back (H-4)', async () => {
    fakes.reserveOutcome = ({ holdId }) => ({ status: 'refused', holdId, code: 'rate_limit_exceeded', limit: 5, retryAfterSeconds: 90 });
    const answer = await chat();
    expect([answer.status, errorOf(answer).code, answer.headers['retry-after']]).toEqual([429, 'rate_limit_exceeded', '60']);
  });

  test('a request that is not HTTP gets an answer with an id too', async () => {
    const socket = await raw();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n');
    expect(await received(socket)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n(?=.*x-request-id: req_).*"code":"invalid_request"/s);
  });
});

describe('keys', () => {
  beforeEach(() => start());

  test('leave the gateway as a digest only, and are asked for once', async () => {
    const asked: unknown[] = [];
    fakes.messaging.answer(keyResolve, (request) => {
      asked.push(request);
      return TEST_CALLER;
    });
    await Promise.all([chat(), chat()]);
    await chat();
    expect(asked).toEqual([{ keyDigest: createHash('sha256').update(TEST_KEY).digest('hex') }]);
    expect(JSON.stringify([fakes.reserves, fakes.opened, asked])).not.toContain(TEST_KEY);
  });

  test('that were revoked are refused at once', async () => {
    expect((await chat()).status).toBe(200);
    fakes.refuseKeys();
    expect((await chat()).status).toBe(200);
    fakes.messaging.publish(keyChanged, { projectId: TEST_CALLER.projectId, keyId: TEST_CALLER.keyId });
    expect((await chat()).status).toBe(401);
  });

  test('are checked before the body is sent', async () => {
    fakes.refuseKeys();
    const socket = await raw();
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\ncontent-length: 500\r\nexpect: 100-continue\r\n\r\n`);
    expect(await received(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('bodies', () => {
  test('that are too large can be refused to a client that writes before it reads', async () => {
    await start({ bodyBytesMax: 10_000 });
    for (const framing of ['content-length: 20000000', 'transfer-encoding: chunked']) {
      const socket = await raw();
      socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\nconnection: close\r\n${framing}\r\n\r\n`);
      const piece = Buffer.alloc(1_000_000, 'x');
      for (let sent = 0; sent < 20; sent++) {
        if (framing.includes('chunked')) socket.write('f4240\r\n');
        if (!socket.write(piece)) await once(socket, 'drain');
        if (framing.includes('chunked')) socket.write('\r\n');
      }
      if (framing.includes('chunked')) socket.write('0\r\n\r\n');
      expect(await received(socket)).toMatch(/^HTTP\/1\.1 413 .*"code":"request_too_large"/s);
    }
  });

  test('at the limit pass', async () => {
    await start({ bodyBytesMax: 1_000 });
    const empty = Buffer.byteLength(JSON.stringify({ ...BODY, user: '' }));
    expect((await chat({ user: 'x'.repeat(1_000 - empty) })).status).toBe(200);
    expect((await chat({ user: 'x'.repeat(1_001 - empty) })).status).toBe(413);
  });

  test('are asked for with 100 Continue only when they will be read', async () => {
    await start({ bodyBytesMax: 1_000 });
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
        request.end(JSON.stringify(BODY).padEnd(length));
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

  test('in flight are limited together, and count until their request has ended', async () => {
    await start({ bodiesInFlightBytesMax: 1_024 });
    let running: FakeEventStream<StreamEvent> | undefined;
    fakes.model = (stream) => {
      running = stream;
    };
    const first = chat({ user: 'x'.repeat(700) });
    await until(() => running !== undefined);
    const refused = await chat({ user: 'x'.repeat(700) });
    expect([refused.status, errorOf(refused).code, refused.headers['retry-after']]).toEqual([503, 'model_unavailable', '1']);
    running?.write(...HELLO);
    running?.end();
    expect((await first).status).toBe(200);
    fakes.model = (stream) => {
      stream.write(...HELLO);
      stream.end();
    };
    expect((await chat({ user: 'x'.repeat(700) })).status).toBe(200);
  });

  test('that a client does not finish sending cost nothing and stay nowhere', async () => {
    await start({ bodiesInFlightBytesMax: 1_024 });
    const socket = await raw();
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: 1000\r\n\r\n${'x'.repeat(900)}`);
    await delay(20);
    socket.destroy();
    await until(() => socket.closed);
    let answer = await chat({ user: 'x'.repeat(700) });
    while (answer.status === 503) answer = await chat({ user: 'x'.repeat(700) });
    expect([answer.status, fakes.reserves.length]).toEqual([200, 1]);
  });
});

describe('peek, then 200', () => {
  const failure: StreamEvent = { type: 'completion-failure', code: 'model_capacity', message: 'The model is busy.', retryAfterSeconds: 7 };

  test('a failure before content keeps its status (T-33)', async () => {
    await start();
    fakes.model = (stream) => {
      stream.write({ type: 'upstream-start', upstream: 'local' }, failure);
      stream.end();
    };
    const answer = await chat({ stream: true });
    expect([answer.status, answer.headers['retry-after'], errorOf(answer).code]).toEqual([429, '7', 'model_capacity']);
    expect(fakes.settles).toMatchObject([{ reason: 'failed' }]);
    expect(fakes.settles[0]?.usage).toBeUndefined();
  });

  test('a failure after content is told within the stream, and nothing follows (C-34)', async () => {
    await start();
    fakes.model = (stream) => {
      stream.write(...HELLO.slice(0, -1));
      stream.write(failure);
      stream.end();
    };
    const { status, text } = await chat({ stream: true });
    expect(status).toBe(200);
    expect(text).toMatch(/"content":"lo\.".*\n\ndata: \{"error":\{"message":"The model is busy\.".*"code":"model_capacity"\}\}\n\n$/s);
    expect(text).not.toContain('[DONE]');
  });

  test('the last content does not wait for a settlement that takes long, and the end does', async () => {
    await start({ settleAnswerMs: 60_000 });
    let release: () => void = () => undefined;
    fakes.beforeApply = ({ settles }) =>
      settles.length === 0
        ? undefined
        : new Promise((resolve) => {
            release = resolve;
          });
    const response = await openStream();
    let text = '';
    response.on('data', (chunk) => {
      text += chunk;
    });
    await until(() => text.includes('lo.'));
    expect(text).not.toContain('"finish_reason":"stop"');
    release();
    await once(response, 'end');
    expect(text.match(/Hel|lo\.|"stop"|\[DONE\]/g)).toEqual(['Hel', 'lo.', '"stop"', '[DONE]']);
  });

  test('silence is bridged, before content and after (C-33)', async () => {
    await start({ peekMs: 20, keepAliveMs: 20 });
    let model: FakeEventStream<StreamEvent> | undefined;
    fakes.model = (stream) => {
      model = stream;
    };
    const response = await openStream();
    expect(response.statusCode).toBe(200);
    let text = '';
    response.on('data', (chunk) => {
      text += chunk;
    });
    await until(() => text.split(': keep-alive\n\n').length > 2);
    expect(text).toMatch(/^(: keep-alive\n\n)+$/);
    model?.write({ type: 'text-delta', text: 'Hello' });
    await until(() => /Hello.*: keep-alive\n\n/s.test(text));
    model?.write(failure);
    model?.end();
    await once(response, 'end');
    expect(text).toMatch(/data: \{"error":[^\n]*\}\n\n$/);
  });
});

describe('a client', () => {
  test('that leaves mid-stream stops the upstream and pays for what was received (H-9)', async () => {
    await start();
    fakes.model = (stream) => {
      stream.write({ type: 'text-delta', text: 'Hello' });
      void stream.cancelled().then(() => {
        stream.write({
          type: 'usage-report',
          usage: { promptTokens: 9, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0, source: 'reported' },
        });
        stream.end();
      });
    };
    const response = await openStream();
    await once(response, 'data');
    response.destroy();
    await until(() => fakes.settles.length === 1);
    expect(fakes.settles).toMatchObject([{ reason: 'client-left', usage: { promptTokens: 9, outputTokens: 2 } }]);
  });

  test('that leaves before a plain reply pays nothing when nothing had come', async () => {
    await start();
    fakes.model = (stream) => void stream.cancelled().then(() => stream.end());
    const socket = await raw();
    const body = JSON.stringify(BODY);
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => fakes.opened.length === 1);
    socket.destroy();
    await until(() => fakes.settles.length === 1);
    expect(fakes.settles).toMatchObject([{ reason: 'client-left' }]);
    expect(fakes.settles[0]?.usage).toBeUndefined();
  });

  test('that reads slowly slows the model, and one that stops reading is cut off and billed', async () => {
    await start({ drainMs: 300 });
    let taken = 0;
    fakes.model = (stream) => {
      const piece: StreamEvent = { type: 'text-delta', text: 'x'.repeat(100_000) };
      for (let count = 0; count < 1_000; count++) stream.write(piece);
      void stream.cancelled().then(() => {
        taken = stream.taken;
        stream.end();
      });
    };
    const socket = await raw();
    const body = JSON.stringify({ ...BODY, stream: true });
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => fakes.settles.length === 1);
    // 100 MB were there to be had; only what the kernel's buffers hold was taken.
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(300);
    expect(fakes.settles).toMatchObject([{ reason: 'client-left', usage: { source: 'estimated', outputTokens: 500 } }]);
    socket.destroy();
  });
});

describe('shutdown', () => {
  test('lets a running stream finish and takes no new connection', async () => {
    await start();
    let model: FakeEventStream<StreamEvent> | undefined;
    fakes.model = (stream) => {
      model = stream;
      stream.write({ type: 'text-delta', text: 'Hello' });
    };
    const response = await openStream();
    const closed = gateway.close();
    await expect(chat()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    model?.write(...HELLO);
    model?.end();
    expect(await textOf(response)).toMatch(/\[DONE\]\n\n$/);
    await closed;
    expect(fakes.settles).toMatchObject([{ reason: 'completed' }]);
  });

  test('cuts off what does not finish in time, and settles it', async () => {
    await start({ shutdownGraceMs: 50 });
    fakes.model = (stream) => {
      stream.write({ type: 'text-delta', text: 'Hello' });
      void stream.cancelled().then(() => stream.end());
    };
    const response = await openStream();
    response.on('error', () => undefined);
    await gateway.close();
    expect(fakes.settles).toMatchObject([{ reason: 'client-left', usage: { source: 'estimated' } }]);
  });
});
