import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type KeyCreateRequest, keyCreate, keyRevoke } from '#contracts/billing/keys.js';
import { projectList } from '#contracts/billing/projects.js';
import { PANEL_URL, PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { close, listen } from '../../test/test-provider.js';
import { API_PREFIX } from '../http/routes.js';
import { PlaygroundKeys } from '../playground/playground-keys.js';

const [ACME, OTHER] = [randomUUID(), randomUUID()];
const [WEB, JOBS, CLOSED, FOREIGN] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const PROJECTS = [
  { projectId: WEB, accountId: ACME, enabled: true },
  { projectId: JOBS, accountId: ACME, enabled: true },
  { projectId: CLOSED, accountId: ACME, enabled: false },
  { projectId: FOREIGN, accountId: OTHER, enabled: true },
];
const ASKED = { model: 'sim-fast', messages: [{ role: 'user', content: 'a private question' }], max_tokens: 5 };
const [HELLO, DONE] = ['data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n', 'data: [DONE]\n\n'];

type Answer = (response: ServerResponse, request: IncomingMessage, body: object) => void;

let answer: Answer;
let developer: SignedIn;
let created: KeyCreateRequest[];
let revoked: string[];

const gateway = await listen(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  response.setHeader('x-request-id', 'req_of_gateway');
  answer(response, request, JSON.parse(body));
});
const panel = await PanelFixture.open({ gatewayUrl: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}` });
panel.messaging.answer(projectList, ({ projectId }) => ({
  projects: PROJECTS.filter((project) => project.projectId === projectId) as never,
  nextCursor: null,
}));
panel.messaging.answer(keyCreate, (message) => {
  created.push(message);
  return { ...message, key: `secret-${created.length}` } as never;
});
panel.messaging.answer(keyRevoke, ({ keyId }) => {
  revoked.push(keyId);
  return {} as never;
});
beforeEach(async () => {
  [created, revoked] = [[], []];
  answer = (response) => response.end(HELLO + DONE);
  developer = await panel.person('developer', ACME);
});
afterAll(async () => {
  await panel.close();
  await close(gateway);
});

const run = (projectId = WEB, { cookie }: { cookie: string } = developer) =>
  panel.send('/playground', { method: 'POST', cookie, body: { projectId, request: ASKED } });

/** Opens a reply that goes on, and waits for its first event. */
async function open(cookie = developer.cookie): Promise<{ text: Promise<string>; closed: Promise<unknown>; leave: () => void }> {
  const arrived = Promise.withResolvers<Promise<unknown>>();
  answer = (response) => {
    response.write(HELLO);
    arrived.resolve(once(response, 'close'));
  };
  const abort = new AbortController();
  const reply = await fetch(`${await panel.app.getUrl()}${API_PREFIX}/playground`, {
    method: 'POST',
    headers: { cookie, origin: PANEL_URL, 'content-type': 'application/json' },
    body: JSON.stringify({ projectId: WEB, request: ASKED }),
    signal: abort.signal,
  });
  const text = reply.text();
  text.catch(() => undefined);
  return { text, closed: arrived.promise.then((closed) => closed), leave: () => abort.abort() };
}

test('the reply of the gateway is relayed, with its id', async () => {
  const seen: object[] = [];
  answer = (response, { url, headers }, body) => {
    seen.push({ url, key: headers.authorization, requestId: headers['x-request-id'], body });
    response.end(HELLO + DONE);
  };
  const { status, text, headers } = await run();
  expect({ status, text, type: headers['content-type'], cache: headers['cache-control'], id: headers['x-gateway-request-id'] }).toEqual({
    status: 200,
    text: HELLO + DONE,
    type: 'text/event-stream; charset=utf-8',
    cache: 'no-store',
    id: 'req_of_gateway',
  });
  expect(seen).toEqual([
    {
      url: '/v1/chat/completions',
      key: 'Bearer secret-1',
      requestId: headers['x-request-id'],
      body: { ...ASKED, stream: true, stream_options: { include_usage: true } },
    },
  ]);
});

test('the requests of a session in a project share a key of one hour, which names the person', async () => {
  await run();
  await run();
  await run(JOBS);
  const key = { keyId: expect.any(String), name: `Playground of ${developer.email}`, expiresAt: expect.any(String) };
  expect(created).toEqual([
    { ...key, projectId: WEB },
    { ...key, projectId: JOBS },
  ]);
  const leftMs = Date.parse(created[0]?.expiresAt ?? '') - Date.now();
  expect(leftMs > 3_500_000 && leftMs <= 3_600_000).toBe(true);
});

test('neither the secret of the key nor the question is logged', async () => {
  await run();
  answer = (_response, request) => request.socket.destroy();
  await run();
  expect(JSON.stringify(panel.log)).not.toMatch(/secret-\d|private question/);
});

test('the end of the session ends its reply and revokes its key, and no other', async () => {
  const other = await panel.person('developer', ACME);
  await run(WEB, other);
  const { text, closed } = await open();
  await panel.send('/session', { method: 'DELETE', cookie: developer.cookie });
  await panel.app.get(PlaygroundKeys).sweep();
  expect(await text).toBe(
    `${HELLO}data: {"error":{"message":"The session has ended.","type":"authentication_error","param":null,"code":"authentication_required"}}\n\n`,
  );
  await closed;
  expect(revoked).toEqual([created[1]?.keyId]);
});

test('a client that leaves ends the request at the gateway', async () => {
  const { closed, leave } = await open();
  leave();
  await closed;
});

test.each([
  [404, 'model_not_found', null, undefined],
  [400, 'invalid_request', 'max_tokens', undefined],
  [429, 'model_capacity', null, '7'],
  [502, 'upstream_error', null, '1'],
])('a refusal of the gateway is passed on: %i %s', async (status, code, param, retryAfter) => {
  answer = (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...(retryAfter && { 'retry-after': retryAfter }) });
    response.end(JSON.stringify({ error: { message: 'No.', type: 'x', param, code } }));
  };
  const reply = await run();
  expect([reply.status, reply.body, reply.headers['retry-after'], reply.headers['x-gateway-request-id']]).toEqual([
    status,
    { error: { message: 'No.', type: expect.any(String), param, code } },
    retryAfter,
    'req_of_gateway',
  ]);
});

test('a refusal for lack of money keeps its amounts for those who may see the balance alone [sec-money-read]', async () => {
  answer = (response) => response.writeHead(402).end('{"error":{"message":"$1 is available.","code":"insufficient_balance"}}');
  const replies = [await run(WEB, await panel.person('owner', ACME)), await run()];
  expect(replies.map(({ status, body }) => [status, body.error.message])).toEqual([
    [402, '$1 is available.'],
    [402, expect.not.stringContaining('$1')],
  ]);
});

test.each<[string, Answer]>([
  ['closes the connection', (_response, request) => request.socket.destroy()],
  ['answers with a page', (response) => response.writeHead(500).end('<html>')],
  ['leads to another address', (response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
  ['refuses each key', (response) => response.writeHead(401).end('{"error":{"message":"No.","code":"invalid_api_key"}}')],
])('a gateway that %s is unavailable', async (_name, refuse) => {
  answer = refuse;
  const { status, body } = await run();
  expect([status, body.error.code]).toEqual([503, 'unavailable']);
});

test('a reply that breaks off ends with an error, after its last whole event', async () => {
  answer = (response, request) => response.write(`${HELLO}data: {"cut`, () => request.socket.destroy());
  const { status, text } = await run();
  expect([status, text]).toEqual([200, expect.stringMatching(/^data: .*Hello.*\n\ndata: \{"error":\{.*"code":"unavailable"\}\}\n\n$/)]);
});

test('a key that was revoked meanwhile is replaced by another', async () => {
  answer = (response, { headers }) =>
    headers.authorization === 'Bearer secret-1' ? response.writeHead(401).end('{}') : response.end(HELLO + DONE);
  expect((await run()).text).toBe(HELLO + DONE);
  expect(created.map(({ projectId }) => projectId)).toEqual([WEB, WEB]);
});

test.each([
  ['nothing', {}, 'model'],
  ['no messages', { model: 'sim-fast' }, 'messages'],
  ['an empty conversation', { model: 'sim-fast', messages: [] }, 'messages'],
])('a request with %s makes no key [sec-panel-shares]', async (_what, request, param) => {
  const reply = await panel.send('/playground', { method: 'POST', cookie: developer.cookie, body: { projectId: WEB, request } });
  expect([reply.status, reply.body.error.code, reply.body.error.param, created]).toEqual([400, 'invalid_request', param, []]);
});

test('the key of a refused request is used for the next one [sec-panel-shares]', async () => {
  answer = (response) => response.writeHead(402).end('{"error":{"message":"No.","code":"insufficient_balance"}}');
  await run();
  answer = (response) => response.end(DONE);
  await run();
  await run();
  expect([created.length, revoked]).toEqual([1, []]);
});

test('three requests of a person run at once, and another person is not held up', async () => {
  const running = [await open(), await open(), await open()];
  answer = (response) => response.end(DONE);
  const refused = await run();
  const other = await run(WEB, await panel.person('developer', ACME));
  expect([refused.status, refused.body.error.code, other.status]).toEqual([429, 'rate_limit_exceeded', 200]);
  for (const { leave } of running) leave();
  await Promise.all(running.map(({ closed }) => closed));
});

test.each([
  ['of another account', FOREIGN, 404, 'not_found'],
  ['that does not exist', randomUUID(), 404, 'not_found'],
  ['that is disabled', CLOSED, 409, 'conflict'],
])('a project %s gets no key', async (_name, projectId, status, code) => {
  const reply = await run(projectId);
  expect([reply.status, reply.body.error.code, created]).toEqual([status, code, []]);
});
