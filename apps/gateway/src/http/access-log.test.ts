import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE } from '#inference/usage.js';
import { FakeServices, HELLO, TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { KEY, readText, startTestGateway, type TestGateway } from '../../test/test-gateway.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

test('a line has the key id, the client address behind trusted proxies, its user agent and its own request id', async () => {
  gateway = await startTestGateway({ trustedProxyHops: 1 });
  const client = { 'x-forwarded-for': '6.6.6.6, 1.2.3.4', 'user-agent': 'an-agent/1.0', 'x-request-id': 'theirs-1' };
  const answer = await gateway.ask('/v1/models', { headers: { ...KEY, ...client } });
  const [{ level, time, totalMs, ...line } = { msg: '' }] = gateway.logged.filter(({ msg }) => msg === 'request');
  expect(line).toEqual({
    requestId: answer.headers['x-request-id'],
    traceId: String(answer.headers['x-request-id']).slice('req_'.length),
    clientRequestId: 'theirs-1',
    clientAddress: '1.2.3.4',
    userAgent: 'an-agent/1.0',
    userAgentFamily: 'an-agent',
    method: 'GET',
    route: '/v1/models',
    status: 200,
    ...TEST_CALLER,
    msg: 'request',
  });
  expect(answer.headers['x-request-id']).toMatch(/^req_/);
});

test('the line of a request to a model has its format, its calls, its hold, its usage, its cost and its times', async () => {
  const fakes = new FakeServices();
  fakes.model = (stream) => {
    stream.write({ type: 'upstream-start', upstream: 'second', attempt: 2, queueMs: 40 }, ...HELLO.slice(1));
    stream.end();
  };
  gateway = await startTestGateway({}, fakes);
  const answer = await gateway.chat({ stream: true, max_tokens: 100 });
  const [line] = gateway.logged.filter(({ msg }) => msg === 'request');
  const [reserve] = fakes.reserves;
  const number: number = expect.any(Number) as never;
  expect(line).toEqual({
    level: 30,
    time: number,
    requestId: answer.headers['x-request-id'],
    traceId: String(answer.headers['x-request-id']).slice('req_'.length),
    clientAddress: '127.0.0.1',
    method: 'POST',
    route: '/v1/chat/completions',
    format: 'chat',
    status: 200,
    ...TEST_CALLER,
    model: 'test-model',
    stream: true,
    holdId: reserve?.holdId,
    heldPicoUsd: reserve?.amountPicoUsd,
    reserveMs: number,
    upstream: 'second',
    attempts: 2,
    queueMs: 40,
    outcome: 'completed',
    usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 2, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
    costPicoUsd: '1000',
    settleMs: number,
    totalMs: number,
    firstContentMs: number,
    msg: 'request',
  });
});

test('the tokens of each model are counted from 0 on', async () => {
  gateway = await startTestGateway();
  const counts = async () => (await gateway.registry.metrics()).match(/^tollgate_gateway_tokens_total\{model="test-model".*$/gm);
  const series = (kind: string, tokens: number) => `tollgate_gateway_tokens_total{model="test-model",kind="${kind}"} ${tokens}`;
  expect(await counts()).toEqual([series('prompt', 0), series('cached', 0), series('output', 0)]);
  await gateway.chat();
  expect(await counts()).toEqual([series('prompt', 5), series('cached', 4), series('output', 2)]);
});

test('tokens beyond the hold are counted from 0 on', async () => {
  const fakes = new FakeServices();
  fakes.model = (stream) => {
    const report: StreamEvent = { type: 'usage-report', usage: { ...NO_USAGE, promptTokens: 1, outputTokens: 107 } };
    stream.write(...HELLO.slice(0, -1), report, ...HELLO.slice(-1));
    stream.end();
  };
  gateway = await startTestGateway({}, fakes);
  const counts = async () => (await gateway.registry.metrics()).match(/^tollgate_gateway_unbilled_tokens_total\{model="test-model".*$/gm);
  const series = (tokens: number) => [`tollgate_gateway_unbilled_tokens_total{model="test-model"} ${tokens}`];
  expect(await counts()).toEqual(series(0));
  await gateway.chat({ max_tokens: 100 });
  expect(await counts()).toEqual(series(7));
});

test.each([
  ['OpenAI/Python 1.2.3', 'OpenAI/Python'],
  ['curl/8.1', 'curl'],
  ['codex_cli_rs/0.40.0 (Debian 13; x86_64) xterm', 'codex_cli_rs'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'Mozilla'],
  ['claude-cli/2.0 (external, cli)', 'claude-cli'],
  ['(none)', undefined],
])('the family of the user agent %j is %j', async (userAgent, family) => {
  gateway = await startTestGateway();
  await gateway.ask('/v1/models', { headers: { ...KEY, 'user-agent': userAgent } });
  expect(gateway.logged.find(({ msg }) => msg === 'request')?.userAgentFamily).toBe(family);
});

test('headers are truncated, and control characters removed', async () => {
  gateway = await startTestGateway();
  const socket = await gateway.connect();
  const head = `GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${TEST_KEY}\r\n`;
  socket.write(`${head}user-agent: a\x85b\tc${'x'.repeat(1_000)}\r\nx-request-id: ${'y'.repeat(1_000)}\r\n\r\n`, 'latin1');
  await readText(socket);
  const [line] = gateway.logged.filter(({ msg }) => msg === 'request');
  expect([line?.userAgent, line?.clientRequestId, line?.clientAddress]).toEqual([`abc${'x'.repeat(195)}`, 'y'.repeat(100), '127.0.0.1']);
});
