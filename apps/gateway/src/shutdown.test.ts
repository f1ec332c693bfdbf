import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { StreamEvent } from '#inference/stream-event.js';
import type { FakeEventStream } from '#testing/fake-messaging.js';
import { HELLO, TEST_KEY } from '#testing/fake-services.js';
import { type Answer, CHAT, readError, readText, startTestGateway, type TestGateway, until } from '../test/test-gateway.js';

/** Outcome of the requests that run when the gateway stops. */

const TEXT: StreamEvent = { type: 'text-delta', text: 'Hello' };
const GRACE_MS = 50;

let gateway: TestGateway;

afterEach(() => gateway.close());

/** Starts a gateway whose model sends these events and then nothing until it is cancelled. */
async function startSilent(...said: StreamEvent[]): Promise<void> {
  gateway = await startTestGateway({ shutdownGraceMs: GRACE_MS });
  gateway.fakes.model = (stream) => {
    if (said.length > 0) stream.write(...said);
    void stream.cancelled().then(() => stream.end());
  };
}

function isRestarting(answer: Answer): void {
  const { status, headers } = answer;
  expect([status, headers['retry-after'], headers.connection]).toEqual([503, '1', 'close']);
  expect(readError(answer)).toEqual({
    message: 'The gateway is restarting. Try again.',
    type: 'api_error',
    param: null,
    code: 'model_unavailable',
  });
}

/** Returns all warnings, and the outcome of each request. */
function loggedOutcomes(): object[] {
  return gateway.logged.flatMap(({ level, msg, running, status, code, outcome }): object[] => {
    if (msg === 'request') return [{ status, code, outcome }];
    return level === 40 ? [{ msg, running }] : [];
  });
}

const ENDED = { msg: 'shutdown grace over: ending running requests', running: 1 };

test('a running stream may finish within the grace, and new connections are refused', async () => {
  gateway = await startTestGateway();
  let model: FakeEventStream<StreamEvent> | undefined;
  gateway.fakes.model = (stream) => {
    model = stream;
    stream.write(TEXT);
  };
  const response = await gateway.openStream();
  const closed = gateway.close();
  await expect(gateway.chat()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  model?.write(...HELLO);
  model?.end();
  expect(await readText(response)).toMatch(/\[DONE\]\n\n$/);
  await closed;
  expect(gateway.fakes.settles).toMatchObject([{ reason: 'completed' }]);
  expect(loggedOutcomes()).toEqual([{ status: 200, code: undefined, outcome: 'completed' }]);
});

test('a stream that outlasts the grace ends with an error, and is billed for its received output', async () => {
  await startSilent(TEXT);
  const response = await gateway.openStream();
  const closed = gateway.close();
  expect(await readText(response)).toMatch(/"content":"Hello".*\n\ndata: \{"error":[^\n]*"code":"model_unavailable"\}\}\n\n$/s);
  await closed;
  expect(gateway.fakes.settles).toMatchObject([
    { reason: 'failed', usage: { promptSource: 'estimated', outputSource: 'counted', outputTokens: 2 } },
  ]);
  expect(loggedOutcomes()).toEqual([ENDED, { status: 200, code: 'model_unavailable', outcome: 'failed' }]);
});

test.each([
  ['a plain reply', false, [TEXT]],
  ['a stream that has not begun', true, []],
])('%s that outlasts the grace is refused with 503, and costs nothing', async (_name, stream, said) => {
  await startSilent(...said);
  const answer = gateway.chat({ stream });
  await until(() => gateway.fakes.opened.length === 1);
  await gateway.close();
  isRestarting(await answer);
  expect(gateway.fakes.settles).toMatchObject([{ reason: 'failed' }]);
  expect(gateway.fakes.settles[0]?.usage).toBeUndefined();
  expect(loggedOutcomes()).toEqual([ENDED, { status: 503, code: 'model_unavailable', outcome: 'failed' }]);
});

test('a request with an incomplete body is refused with 503', async () => {
  await startSilent();
  const socket = await gateway.connect();
  const answered = once(socket, 'data') as Promise<[Buffer]>;
  socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-length: 1000\r\n\r\n{"model":`);
  while (!/^tollgate_gateway_body_bytes_in_flight 1000$/m.test(await gateway.registry.metrics())) await delay(2);
  const closed = gateway.close();
  expect(String(await answered)).toMatch(/^HTTP\/1\.1 503 .*connection: close\r\n.*"code":"model_unavailable"/is);
  socket.destroy();
  await closed;
  expect(gateway.fakes.reserves).toEqual([]);
  expect(loggedOutcomes()).toEqual([ENDED, { status: 503, code: 'model_unavailable', outcome: undefined }]);
});
