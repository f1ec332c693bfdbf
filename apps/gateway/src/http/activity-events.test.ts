import { type EndedRequest, type RequestsEnded, requestsEnded } from '#contracts/gateway.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { FakeServices, HELLO, TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { validatePayload } from '#validation/validate-payload.js';
import { CHAT, CHAT_BODY, readText, startTestGateway, type TestGateway, until } from '../../test/test-gateway.js';
import { ActivityEvents } from './activity-events.js';
import { HttpExchange } from './http-exchange.js';

let gateway: TestGateway;
/** Messages in their order. */
let published: EndedRequest[][];

let fakes: FakeServices;

async function start(activityEvents = true): Promise<void> {
  published = [];
  fakes = new FakeServices();
  fakes.messaging.subscribe(requestsEnded, ({ requests }) => published.push(requests));
  gateway = await startTestGateway({ activityEvents }, fakes);
}

/** Returns the first requests, as a subscriber gets them: without absent fields. */
async function ended(count = 1): Promise<RequestsEnded['requests']> {
  await until(() => published.flat().length >= count);
  return validatePayload(requestsEnded.event, JSON.parse(JSON.stringify({ requests: published.flat() }))).requests;
}

const MS: number = expect.any(Number) as never;
const REPORT: StreamEvent = {
  type: 'attempts-report',
  attempts: [
    { upstream: 'first', startMs: 0, firstByteMs: 2, endMs: 3, failure: 'refused', status: 503, reason: 'overloaded 503' },
    { upstream: 'local', startMs: 3, firstByteMs: 5, endMs: 9 },
  ],
};

/** Makes the model answer with these events. */
function script(events: readonly StreamEvent[]): void {
  fakes.model = (stream) => {
    stream.write(...events);
    stream.end();
  };
}

describe('with the setting on', () => {
  beforeEach(() => start());
  afterEach(() => gateway.close());

  test('a stream has its times, its quote and its calls, shifted to the moment the gateway received it', async () => {
    script([...HELLO.slice(0, -1), REPORT, ...HELLO.slice(-1)]);
    const response = await gateway.openStream();
    await readText(response);
    const [request] = await ended();
    const requestId = String(response.headers['x-request-id']);
    expect(request).toEqual({
      requestId,
      receivedAt: expect.any(String),
      ...TEST_CALLER,
      protocol: 'chat',
      model: 'test-model',
      stream: true,
      status: 200,
      outcome: 'completed',
      heldMs: MS,
      firstContentMs: MS,
      lastContentMs: MS,
      endedMs: MS,
      holdId: fakes.reserves[0]?.holdId,
      promptTokensEstimate: fakes.opened[0]?.ticket.promptTokensEstimate,
      outputTokensMax: fakes.opened[0]?.ticket.outputTokensMax,
      attempts: [
        { upstream: 'first', startMs: MS, firstByteMs: MS, endMs: MS, failure: 'refused', status: 503, reason: 'overloaded 503' },
        { upstream: 'local', startMs: MS, firstByteMs: MS, endMs: MS },
      ],
    });
    expect(gateway.logged.find(({ msg }) => msg === 'request')?.calls).toEqual(request?.attempts);
    const { heldMs = 0, firstContentMs = 0, lastContentMs = 0, endedMs = 0, attempts = [], receivedAt = '' } = request ?? {};
    expect(attempts.map(({ startMs, endMs = 0 }) => [startMs - heldMs, endMs - heldMs])).toEqual([
      [0, 3],
      [3, 9],
    ]);
    const times = [0, heldMs, firstContentMs, lastContentMs, endedMs];
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(Number.parseInt(requestId.slice(4, 16), 16)).toBe(Date.parse(receivedAt));
  });

  test('the report of the calls is not sent to the client', async () => {
    const timeless = ({ text }: { text: string }) => text.replace(/"id":"[^"]*"|"created":\d+/g, '');
    const bodies = [];
    for (const stream of [true, false]) {
      script(HELLO);
      const without = await gateway.chat({ stream });
      script([...HELLO.slice(0, -1), REPORT, ...HELLO.slice(-1)]);
      bodies.push([timeless(await gateway.chat({ stream })), timeless(without)]);
    }
    for (const [body, without] of bodies) expect(body).toBe(without);
  });

  test('refusals have their status, code and sentence, and what refused them; without a valid key there is no account', async () => {
    await gateway.chat({ model: 'no-such-model' });
    const lacking = { status: 'refused', code: 'insufficient_balance', requiredPicoUsd: '2', availablePicoUsd: '1' } as const;
    fakes.reserveOutcome = ({ holdId }) => ({ ...lacking, holdId });
    await gateway.chat();
    const busy = { status: 'refused', code: 'concurrency_limit', limit: 1, retryAfterSeconds: 1, keyId: TEST_CALLER.keyId } as const;
    fakes.reserveOutcome = ({ holdId }) => ({ ...busy, holdId });
    const told = await gateway.chat();
    await gateway.ask(CHAT, { method: 'POST', headers: { authorization: 'Bearer wrong' }, body: {} });
    const requests = await ended(4);
    const { accountId } = TEST_CALLER;
    expect(
      requests.map(({ status, code, accountId: owner, model, refusal }) => ({ status, code, accountId: owner, model, refusal })),
    ).toEqual([
      { status: 404, code: 'model_not_found', accountId },
      { status: 402, code: 'insufficient_balance', accountId, model: 'test-model', refusal: { by: 'balance' } },
      { status: 429, code: 'concurrency_limit', accountId, model: 'test-model', refusal: { by: 'key' } },
      { status: 401, code: 'invalid_api_key' },
    ]);
    expect(requests[2]?.message).toBe(JSON.parse(told.text).error.message);
  });

  test('a refused request has what it named, so that it is found by that; of a completed one billing knows', async () => {
    const named = { user: 'ada', metadata: { team: 'search' } };
    await gateway.chat(named, { 'x-tollgate-tags': 'team=search' });
    const busy = { status: 'refused', code: 'concurrency_limit', limit: 1, retryAfterSeconds: 1, keyId: TEST_CALLER.keyId } as const;
    fakes.reserveOutcome = ({ holdId }) => ({ ...busy, holdId });
    await gateway.chat(named, { 'x-tollgate-tags': 'team=search' });
    expect((await ended(2)).map(({ attribution }) => attribution)).toEqual([
      undefined,
      expect.objectContaining({ user: 'ada', 'tag:team': 'search' }),
    ]);
  });

  test('a failed request has no sentence, which may repeat the prompt', async () => {
    script([{ type: 'completion-failure', code: 'invalid_request', message: 'The server rejected: Hello', retryAfterSeconds: undefined }]);
    await gateway.chat();
    expect((await ended()).map(({ code, outcome, message }) => ({ code, outcome, message }))).toEqual([
      { code: 'invalid_request', outcome: 'failed' },
    ]);
  });

  test('a client that disconnects before the reply counts as 499', async () => {
    fakes.model = (stream) => void stream.cancelled().then(() => stream.end());
    const socket = await gateway.connect();
    const body = JSON.stringify(CHAT_BODY);
    const head = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\ncontent-type: application/json\r\n`;
    socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
    await until(() => fakes.opened.length > 0);
    socket.destroy();
    expect((await ended()).map(({ status, outcome }) => ({ status, outcome }))).toEqual([{ status: 499, outcome: 'client-disconnected' }]);
  });

  test('endpoints that run no model have no activity', async () => {
    await gateway.ask('/v1/models', { headers: { authorization: `Bearer ${TEST_KEY}` } });
    await gateway.chat();
    expect((await ended()).map(({ model }) => model)).toEqual(['test-model']);
  });
});

test('nothing is published and no report is asked for when the setting is off', async () => {
  await start(false);
  await gateway.chat();
  await gateway.close();
  expect([published, fakes.opened[0]?.ticket.reportsAttempts]).toEqual([[], undefined]);
});

test('requests wait while NATS is away; beyond 10,000 they are dropped and counted; a message has at most 200', () => {
  const messages: RequestsEnded[] = [];
  const messaging = { connected: false, publish: (_topic: unknown, event: object) => void messages.push(event as RequestsEnded) };
  let dropped = 0;
  const events = new ActivityEvents(messaging, { inc: () => void dropped++ } as never);
  const exchange = Object.assign(new HttpExchange(), { route: CHAT });
  for (let at = 0; at < 10_003; at++) events.push(exchange, 200, performance.now());
  messaging.connected = true;
  events.onApplicationShutdown();
  expect({ dropped, messages: messages.map(({ requests }) => requests.length) }).toEqual({
    dropped: 3,
    messages: Array.from({ length: 50 }, () => 200),
  });
});

test('long names of refused requests make messages shorter, and beyond a million characters that wait they are left out', () => {
  const messages: RequestsEnded[] = [];
  const messaging = { connected: false, publish: (_topic: unknown, event: object) => void messages.push(event as RequestsEnded) };
  const events = new ActivityEvents(messaging, { inc: () => undefined } as never);
  const user = 'u'.repeat(996);
  for (let at = 0; at < 1_010; at++) {
    const inference = { attribution: { user } };
    events.push(Object.assign(new HttpExchange(), { route: CHAT, inference }), 429, performance.now());
  }
  messaging.connected = true;
  events.onApplicationShutdown();
  const named = messages.map(({ requests }) => requests.filter(({ attribution }) => attribution).length);
  expect([named, messages.flatMap(({ requests }) => requests).length]).toEqual([Array.from({ length: 20 }, () => 50), 1_010]);
});
