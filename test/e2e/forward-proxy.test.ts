import { setTimeout as delay } from 'node:timers/promises';
import { candidateProbe } from '#contracts/probe.js';
import { routeStatus } from '#contracts/route-status.js';
import { ConnectProxy } from '#testing/connect-proxy.js';
import { DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { FaultServer, wholeReply } from '#testing/fault-server.js';
import { FaultStack, type UpstreamLines } from './fault-stack.js';

/** A system whose inference-proxy reaches the outside by a forward proxy alone: only that knows `model.example`. */
const { plain } = DIALECT_STREAMS['openai-chat'];
const CREDENTIALS = 'ada:quiet-orange';
let server: FaultServer;
let proxy: ConnectProxy;
let stack: FaultStack;

beforeAll(async () => {
  server = await FaultServer.start(({ socket }) => void socket.write(wholeReply(plain('from outside'))));
  proxy = await ConnectProxy.start({ credentials: CREDENTIALS, routes: { 'model.example:80': `127.0.0.1:${server.port}` } });
  const HTTP_PROXY = proxy.url.replace('//', `//${CREDENTIALS}@`);
  stack = await FaultStack.start({ serviceEnv: { 'inference-proxy': { HTTP_PROXY, ROUTE_COOLDOWN_MS: '1' } } });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([server?.stop(), proxy?.stop()]);
});

const upstream = (id: string, over: object = {}): UpstreamLines => ({
  ...{ id, kind: 'openai-chat', baseUrl: 'http://model.example/v1' },
  ...over,
});

test('requests, health checks and probes go through the forward proxy', async () => {
  await stack.offer([upstream('outside', { healthCheck: { path: '/health', intervalMs: 100 } })]);
  const { status, text } = await stack.ask('chat', 'outside', { stream: false });
  expect([status, JSON.parse(text).choices[0].message.content]).toEqual([200, 'from outside']);
  const candidate = { kind: 'openai-chat' as const, baseUrl: 'http://model.example/v1' };
  const verdicts: Record<string, string> = {};
  for await (const events of stack.administrator.openStream(candidateProbe, { upstreamId: 'new', model: 'any', candidate })) {
    for (const event of events) if (event.type === 'check-end') verdicts[event.check.id] = event.check.verdict;
  }
  expect(verdicts).toMatchObject({ reachable: 'yes', plain: 'yes' });
  expect([...new Set(proxy.asked)]).toEqual(['model.example:80']);
});

test('while the proxy is down a request is 503 and costs nothing, and the first one after it succeeds', async () => {
  const { port } = proxy;
  await stack.offer([upstream('again')]);
  await proxy.stop();
  const { status, text, requestId } = await stack.ask('chat', 'again', { stream: false });
  const { costPicoUsd } = await stack.readBill(requestId);
  expect([status, JSON.parse(text).error.code, costPicoUsd]).toEqual([503, 'model_unavailable', '0']);
  expect(text).not.toMatch(/proxy|quiet-orange/);
  const statuses: number[] = [];
  for (let n = 0; n < 6; n++) statuses.push((await stack.ask('chat', 'again', { stream: false })).status);
  expect(statuses).toEqual(statuses.map(() => 503)); // the circuit is open
  proxy = await ConnectProxy.start({ credentials: CREDENTIALS, routes: proxy.routes, port });
  await delay(5); // the cooldown of 1 ms
  expect((await stack.ask('chat', 'again', { stream: false })).status).toBe(200);
});

test('an upstream names only a declared proxy', async () => {
  const foreign = await ConnectProxy.start({ routes: proxy.routes });
  await stack.offer([upstream('foreign', { proxy: foreign.url }), upstream('direct', { proxy: 'off' })]);
  const statuses = await Promise.all(
    ['foreign', 'direct'].map(async (model) => (await stack.ask('chat', model, { stream: false })).status),
  );
  expect([statuses, foreign.asked]).toEqual([[503, 503], []]);
  const [replica] = await stack.administrator.requestEvery(routeStatus, {}, { timeoutMs: 1_000 });
  const lines = replica?.routes.filter((route) => route.upstream === 'foreign').map(({ lastFailure }) => lastFailure?.detail);
  const cure = `add ${foreign.url} to FORWARD_PROXIES of the inference-proxy (PROXY_UNDECLARED)`;
  expect(lines).toEqual([`forward proxy 127.0.0.1:${foreign.port} is not declared: ${cure}`]);
  await foreign.stop();
});
