import { setTimeout as delay } from 'node:timers/promises';
import type { StreamEvent } from '#inference/stream-event.js';
import { TEST_MODEL } from '#testing/fake-services.js';
import { reportedUsage } from '#testing/token-usage.js';
import { KEY, readError, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';

/** The embeddings endpoint over HTTP, with fakes of the other services. */

let gateway: TestGateway;
afterEach(() => gateway.close());

const MODEL = { ...TEST_MODEL, id: 'embedder', embeddingDimensions: 2 };
const FINISH: StreamEvent[] = [
  { type: 'usage-report', usage: reportedUsage(3, 0) },
  { type: 'completion-finish', reason: 'stop' },
];

async function start(settings: Parameters<typeof startTestGateway>[0] = {}, dimensions = 2): Promise<void> {
  gateway = await startTestGateway(settings);
  gateway.fakes.models.push({ ...MODEL, embeddingDimensions: dimensions });
  gateway.fakes.messaging.reconnect();
  await delay(0);
  gateway.fakes.model = (stream, { request }) => {
    stream.write({ type: 'upstream-start', upstream: 'local' });
    for (const _ of request.embedding?.inputs ?? []) stream.write({ type: 'embedding-delta', vectors: [Array(dimensions).fill(0.5)] });
    stream.write(...FINISH);
    stream.end();
  };
}

const send = (over: object = {}) =>
  gateway.ask('/v1/embeddings', {
    headers: { ...KEY, 'content-type': 'application/json' },
    body: { model: 'embedder', input: ['a', 'b'], ...over },
  });

test('vectors, usage and rate headers; the hold is settled before the reply [api-embeddings]', async () => {
  await start();
  gateway.fakes.reserveOutcome = ({ holdId }) => ({
    status: 'held',
    holdId,
    leaseMs: 60_000,
    requests: { limit: 9, remaining: 8, resetSeconds: 5 },
  });
  const answer = await send({ user: 'alice' });
  expect([answer.status, answer.headers['x-ratelimit-remaining-requests'], JSON.parse(answer.text)]).toEqual([
    200,
    '8',
    {
      object: 'list',
      data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: [0.5, 0.5] })),
      model: 'embedder',
      usage: { prompt_tokens: 3, total_tokens: 3 },
    },
  ]);
  const { reserves, settles, opened } = gateway.fakes;
  expect(reserves).toMatchObject([
    { model: 'embedder', amountPicoUsd: String(6 * 150_000), amountTokens: 6, attribution: { user: 'alice' } },
  ]);
  expect(opened).toMatchObject([
    { ticket: { outputTokensMax: 0, embeddingDimensions: 2 }, request: { embedding: { inputs: ['a', 'b'] } } },
  ]);
  expect(settles).toMatchObject([{ reason: 'completed', usage: { promptTokens: 3, outputTokens: 0 }, upstream: 'local' }]);
});

test('a large reply is whole', async () => {
  await start({}, 1_000);
  const answer = await send({ input: Array(100).fill('a') });
  const { data } = JSON.parse(answer.text) as { data: { index: number; embedding: number[] }[] };
  expect([answer.headers['transfer-encoding'], data.map(({ index, embedding }) => [index, embedding.length])]).toEqual([
    'chunked',
    Array.from({ length: 100 }, (_, index) => [index, 1_000]),
  ]);
});

test('tokens beyond the values of other bodies are accepted, and parsed in a worker', async () => {
  await start();
  const input = Array.from({ length: 100 }, () => Array(600).fill(7));
  expect((await send({ input })).status).toBe(200);
  expect(gateway.fakes.reserves).toMatchObject([{ amountTokens: 60_200 }]);
  const tooMany = await send({ input: Array(311).fill(Array(1_000).fill(7)) });
  expect([tooMany.status, readError(tooMany).code]).toEqual([400, 'invalid_request']);
});

test('the memory of the vectors is limited: for one request, and for all that an account runs', async () => {
  await start({ bodyBytesMax: 1_024, bodiesInFlightBytesMax: 64 * 1_024 }, 512);
  const tooLarge = await send({ input: Array(5).fill('a') });
  expect([tooLarge.status, readError(tooLarge)]).toEqual([400, expect.objectContaining({ code: 'invalid_request', param: 'input' })]);
  const answers = gateway.fakes.model;
  const opened = Promise.withResolvers<() => void>();
  gateway.fakes.model = (...request) => opened.resolve(() => answers(...request));
  const first = send({ input: Array(3).fill('a') });
  const finish = await opened.promise;
  const second = await send();
  finish();
  expect([(await first).status, second.status, readError(second).code]).toEqual([200, 429, 'concurrency_limit']);
  gateway.fakes.model = answers;
  expect((await send()).status).toBe(200); // the memory of the first is free again
});

test('a failure after vectors is an error that costs nothing', async () => {
  await start();
  gateway.fakes.model = (stream) => {
    stream.write({ type: 'embedding-delta', vectors: [[1, 2]] });
    stream.write({ type: 'completion-failure', code: 'upstream_error', message: 'The model failed.' });
    stream.end();
  };
  const answer = await send();
  expect([answer.status, readError(answer).code, gateway.fakes.settles]).toMatchObject([502, 'upstream_error', [{ reason: 'failed' }]]);
  expect(gateway.fakes.settles[0]?.usage).toBeUndefined();
});

test('a client that does not read its reply is disconnected, was billed, and frees the memory', async () => {
  await start({ drainMs: 100, bodyBytesMax: 16_000_000, bodiesInFlightBytesMax: 64_000_000 }, 1_024);
  const socket = await gateway.connect();
  const body = JSON.stringify({ model: 'embedder', input: Array(1_500).fill('a') }); // 12 MB of vectors: the account may have 16 MB
  socket
    .pause()
    .write(
      `POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nauthorization: ${KEY.authorization}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  await until(() => gateway.logged.some(({ msg }) => msg === 'request'));
  expect(gateway.fakes.settles).toMatchObject([{ reason: 'completed', usage: { promptTokens: 3 } }]);
  expect((await send({ input: Array(1_500).fill('a') })).status).toBe(200);
  socket.destroy();
});
