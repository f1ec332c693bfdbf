import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE } from '#inference/usage.js';
import { leastMs } from '#testing/least-ms.js';
import { estimatedUsage } from '#testing/token-usage.js';
import {
  collect,
  failure,
  REPORTED,
  reader,
  START,
  STOP,
  setUp,
  startUpstreamBeforeEach,
  stopAfterwards,
  text,
  upstream,
  usage,
} from '../../test/inference-fixture.js';
import {
  answering,
  type Behaviour,
  chunk,
  DONE,
  hanging,
  plainReply,
  streaming,
  TestUpstream,
  USAGE_CHUNK,
} from '../../test/test-upstream.js';
import { RouteMetrics } from '../metrics/route-metrics.js';
import { streamInference } from './stream-inference.js';

startUpstreamBeforeEach();

describe('a good reply', () => {
  test('is streamed with the reported usage, and its socket is reused', async () => {
    upstream.behave(streaming(chunk('Hel'), chunk('lo'), chunk('', 'stop'), USAGE_CHUNK, DONE));
    const { stream, lease, settlements, dependencies, job } = setUp();
    const expected = [START, text('Hello'), REPORTED, STOP];
    expect(await collect(stream)).toEqual(expected);
    expect({ ended: lease.ended, settlements: settlements.length }).toEqual({ ended: true, settlements: 0 });
    for (let again = 0; again < 5; again++) {
      expect(await collect(streamInference(job, reader(), dependencies))).toEqual(expected);
    }
    // Two when a request came before the last bytes of the previous reply.
    expect(upstream.connections).toBeLessThanOrEqual(2);
    expect(upstream.bodies[0]).toEqual({
      model: 'their-model',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('to a plain request is requested plain and is one batch', async () => {
    upstream.behave(answering(200, plainReply('Hello')));
    const { stream } = setUp({ request: { stream: false } });
    const batches: unknown[] = [];
    for await (const batch of stream) batches.push(batch);
    expect(batches).toEqual([[START, text('Hello'), REPORTED, STOP]]);
    expect(upstream.bodies[0]).toEqual({
      model: 'their-model',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 100,
      stream: false,
    });
  });

  test('to a plain request may take longer than firstByteMs, up to totalMs; a stream may not [error-timeout, T-50, T-51]', async () => {
    const timeouts = { connectMs: 1_000, firstByteMs: 30, idleMs: 30, totalMs: 20_000 };
    const upstreams = [upstream.definition({ timeouts })];
    upstream.behave(async (request, response) => {
      await delay(300);
      await answering(200, plainReply('Hello'))(request, response);
    });
    expect(await collect(setUp({ upstreams, request: { stream: false } }).stream)).toEqual([START, text('Hello'), REPORTED, STOP]);
    expect(await collect(setUp({ upstreams }).stream)).toEqual([START, failure('upstream_timeout')]);
  });

  test('to a plain request is one batch also when the upstream has to stream it', async () => {
    upstream.behave(streaming(chunk('Hel'), chunk('lo'), chunk('', 'stop'), USAGE_CHUNK, DONE));
    const upstreams = [upstream.definition({ capabilities: { streamPlainRequests: true, streamOptions: false } })];
    const { stream } = setUp({ upstreams, request: { stream: false } });
    const batches: unknown[] = [];
    for await (const batch of stream) batches.push(batch);
    expect(batches).toEqual([[START, text('Hello'), REPORTED, STOP]]);
    expect(upstream.bodies[0]).toMatchObject({ stream: true });
    expect(upstream.bodies[0]).not.toHaveProperty('stream_options');
  });

  test('may be JSON to a stream request, a stream to a plain request, or begin with blank lines [U-24]', async () => {
    upstream.behave(answering(200, `\n\n ${JSON.stringify(plainReply('Hello'))}`));
    expect(await collect(setUp().stream)).toEqual([START, text('Hello'), REPORTED, STOP]);
    upstream.behave(streaming(`: waking\n\n${chunk('Hello', 'stop')}`, DONE));
    expect(await collect(setUp({ request: { stream: false } }).stream)).toEqual([START, text('Hello'), usage({ outputTokens: 2 }), STOP]);
  });
});

test('a stream that breaks is billed by the prompt count that came at its start, which the gateway gets with the first event [failed-after-content]', async () => {
  const early = chunk('').replace('{', '{"usage":{"prompt_tokens":12,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":8}},');
  upstream.behave(streaming(early, chunk('x'.repeat(20))));
  const counted = { promptTokens: 12, cachedTokens: 8 };
  expect(await collect(setUp().stream)).toEqual([
    { ...START, prompt: counted },
    text('x'.repeat(20)),
    usage({ ...counted, outputTokens: 5, promptSource: 'reported' }),
    failure('upstream_error'),
  ]);
});

describe('a stop sequence that the upstream does not support [T-44]', () => {
  const takesNone = () => ({ upstreams: [upstream.definition({ capabilities: { stop: false } })] });
  const STOPPED: StreamEvent = { type: 'completion-finish', reason: 'stop-sequence' };

  test('is found across deltas: the rest is read for its usage and not passed on [chat-stop, T-44]', async () => {
    upstream.behave(streaming(chunk('one EN'), chunk('D two'), chunk(' three', 'stop'), USAGE_CHUNK, DONE));
    const { stream } = setUp({ ...takesNone(), request: { stop: ['END', '###'] } });
    expect(await collect(stream)).toEqual([START, text('one '), REPORTED, STOPPED]);
    expect(upstream.bodies[0]).not.toHaveProperty('stop');
  });

  test('in a plain reply is billed as the upstream reports', async () => {
    upstream.behave(answering(200, plainReply('one END two')));
    const { stream } = setUp({ ...takesNone(), request: { stop: ['END'], stream: false } });
    expect(await collect(stream)).toEqual([START, text('one '), REPORTED, STOPPED]);
  });

  test('does not delay the text before it', async () => {
    upstream.behave(hanging(chunk('one END two')));
    const { stream, client } = setUp({ ...takesNone(), request: { stop: ['END'] } });
    expect((await stream.next()).value).toEqual([START, text('one ')]);
    client.abort();
    await collect(stream, 'open');
  });

  test.each<[string, Behaviour]>([
    ['breaks off', streaming(chunk('one END two'), chunk(' three'))],
    ['has an error', streaming(chunk('one END two'), chunk(' three'), 'data: {"error":{"message":"boom"}}\n\n')],
    ['falls silent', hanging(chunk('one END two'), chunk(' three'))],
    ['reports nothing', streaming(chunk('one END two'), chunk(' three'), chunk('', 'stop'), DONE)],
  ])('completes the reply when the upstream %s after it, with estimated usage', async (_name, behaviour) => {
    upstream.behave(behaviour);
    const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 100, totalMs: 5_000 };
    const upstreams = [upstream.definition({ capabilities: { stop: false }, timeouts })];
    const { stream } = setUp({ upstreams, request: { stop: ['END'] } });
    expect(await collect(stream)).toEqual([START, text('one '), usage({ outputTokens: 5 }), STOPPED]);
  });

  test('cuts an upstream that continues endlessly after it, billed at the cap', async () => {
    upstream.behave(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('one END two'));
      while (!response.destroyed)
        if (!response.write(chunk('x'.repeat(400)))) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    });
    const { stream } = setUp({ ...takesNone(), outputTokensMax: 100, request: { stop: ['END'] } });
    expect(await collect(stream)).toEqual([START, text('one '), usage({ outputTokens: 100 }), STOPPED]);
  });

  test('that is not completed is passed on before the next event', async () => {
    upstream.behave(streaming(chunk('one E'), chunk('', 'stop'), DONE));
    const upstreams = [upstream.definition({ capabilities: { stop: false } })];
    const events = await collect(setUp({ upstreams, request: { stop: ['END'] } }).stream);
    expect(events).toEqual([START, text('one E'), usage({ outputTokens: 2 }), STOP]);
  });

  test('is sent to an upstream that supports them', async () => {
    upstream.behave(streaming(chunk('ok', 'stop'), DONE));
    await collect(setUp({ request: { stop: ['END'] } }).stream);
    expect(upstream.bodies[0]).toMatchObject({ stop: ['END'] });
  });
});

describe('failures before the first content', () => {
  test.each<[string, Behaviour, string, number | undefined]>([
    ['a 500', answering(500, { error: { message: 'boom' } }), 'upstream_error', undefined],
    ['a 503', answering(503, 'busy'), 'model_unavailable', 1],
    ['a 429 with Retry-After', answering(429, { error: 'slow down' }, { 'retry-after': '17' }), 'model_capacity', 17],
    ['a 401', answering(401, { error: { message: 'Incorrect API key provided: sk-abcdef123456' } }), 'model_unavailable', 1],
    ['a 404', answering(404, { error: { message: 'no such model' } }), 'model_unavailable', 1],
    [
      'a context overflow',
      answering(400, { error: { message: "This model's maximum context length is 10" } }),
      'context_length_exceeded',
      undefined,
    ],
    ['a 408', answering(408, ''), 'upstream_timeout', undefined],
    ['a redirect', answering(307, '', { location: 'http://169.254.169.254/' }), 'upstream_error', undefined],
    ['unrequested compression', answering(200, 'x', { 'content-encoding': 'gzip' }), 'upstream_error', undefined],
    ['an error in a 200', streaming('data: {"error":{"message":"boom"}}\n\n', DONE), 'upstream_error', undefined],
    ['an empty reply', streaming(), 'upstream_error', undefined],
    ['a reply of nothing [M-30]', streaming(chunk('', 'stop'), USAGE_CHUNK, DONE), 'upstream_error', undefined],
    ['a web page', answering(200, '<html>', { 'content-type': 'text/html' }), 'upstream_error', undefined],
    ['a closed socket', (request) => void request.socket.destroy(), 'upstream_error', undefined],
  ])('%s', async (_name, behaviour, code, retryAfterSeconds) => {
    upstream.behave(behaviour);
    const events = await collect(setUp().stream);
    expect(events).toEqual([START, failure(code, retryAfterSeconds)]);
    expect(JSON.stringify(events)).not.toMatch(/boom|sk-abc|busy|slow down|maximum context/);
  });

  test.each([400, 422])('a %i says why, is tried once and opens no circuit [T-52, T-53]', async (status) => {
    upstream.behave(answering(status, { error: { message: 'bad field for their-model' } }));
    const { stream, job, dependencies, table } = setUp();
    const rejected: StreamEvent = {
      ...{ type: 'completion-failure', code: 'invalid_request', retryAfterSeconds: undefined },
      message: `The model's server rejected this request: bad field for ${job.request.model}`,
    };
    expect(await collect(stream)).toEqual([START, rejected]);
    expect(upstream.calls).toBe(1);
    for (let again = 0; again < 9; again++) await collect(streamInference(job, reader(), dependencies));
    expect(table.status('here').routes).toMatchObject([{ circuit: 'closed' }]);
  });

  test.each([
    ['firstByteMs of a stream', true, { firstByteMs: 50 }],
    ['totalMs of a plain request', false, { totalMs: 50 }],
  ])('%s is over [error-timeout]', async (_name, stream, limit) => {
    upstream.behave(hanging());
    const timeouts = { connectMs: 1_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000, ...limit };
    const setting = { upstreams: [upstream.definition({ timeouts })], request: { stream } };
    expect(await collect(setUp(setting).stream)).toEqual([START, failure('upstream_timeout')]);
  });

  test('an error with endless text is reported soon', async () => {
    upstream.behave((_request, response) => void response.writeHead(429, { 'retry-after': '9' }).write('{"error":'));
    expect(await collect(setUp().stream)).toEqual([START, failure('model_capacity', 9)]);
  });

  test('a model without routes, and one whose upstream is down [error-unavailable]', async () => {
    expect(await collect(setUp({ routes: [] }).stream)).toEqual([failure('model_unavailable', 5)]);
    const gone = upstream.definition({ baseUrl: 'http://127.0.0.1:1/v1' });
    expect(await collect(setUp({ upstreams: [gone] }).stream)).toEqual([START, failure('model_unavailable', 1)]);
  });

  test('a forbidden address, and a missing key', async () => {
    const inside = upstream.definition({ allowPrivateNetwork: false });
    expect(await collect(setUp({ upstreams: [inside] }).stream)).toEqual([START, failure('model_unavailable', 1)]);
    const locked = upstream.definition({ apiKeyEnv: 'A_KEY_THAT_IS_NOT_SET' });
    expect(await collect(setUp({ upstreams: [locked] }).stream)).toEqual([START, failure('model_unavailable', 1)]);
    expect(upstream.calls).toBe(0);
  });
});

test('a stale connection is neither a failure of the route nor one of attemptsMax', async () => {
  upstream.behave((request, response) => {
    if (upstream.calls === 2) request.socket.destroy();
    else return streaming(chunk('ok', 'stop'), DONE)(request, response);
  });
  const { stream, job, dependencies } = setUp({ upstreams: [upstream.definition({ connectionsMax: 1 })], attemptsMax: 1 });
  const reply = [text('ok'), usage({ outputTokens: 1 }), STOP];
  expect(await collect(stream)).toEqual([START, ...reply]);
  expect(await collect(streamInference(job, reader(), dependencies))).toEqual([{ ...START, attempt: 2 }, ...reply]);
});

test('a new connection closed without a reply is an attempt', async () => {
  upstream.behave((request) => void request.socket.destroy());
  expect(await collect(setUp({ attemptsMax: 1 }).stream)).toEqual([START, failure('upstream_error')]);
  expect(upstream.calls).toBe(1);
});

describe('failures after content', () => {
  test.each<[string, string[]]>([
    ['an end without a finish [T-30]', []],
    ['an error, then [DONE] [T-29]', ['data: {"error":{"message":"boom"}}\n\n', DONE]],
    ['garbage', ['data: {{{\n\n']],
  ])('%s', async (_name, rest) => {
    upstream.behave(streaming(chunk('Hello'), ...rest));
    expect(await collect(setUp().stream)).toEqual([START, text('Hello'), usage({ outputTokens: 2 }), failure('upstream_error')]);
  });

  test('an idle timeout', async () => {
    upstream.behave(hanging(chunk('Hello')));
    const timeouts = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 60, totalMs: 1_000 };
    const events = await collect(setUp({ upstreams: [upstream.definition({ timeouts })] }).stream);
    expect(events).toEqual([START, text('Hello'), usage({ outputTokens: 2 }), failure('upstream_timeout')]);
  });

  test('a plain request fails without a bill, because nothing was returned', async () => {
    upstream.behave(streaming(chunk('Hello')));
    const upstreams = [upstream.definition({ capabilities: { streamPlainRequests: true } })];
    expect(await collect(setUp({ upstreams, request: { stream: false } }).stream)).toEqual([START, failure('upstream_error')]);
  });
});

describe('a client that disconnects [T-39]', () => {
  test('within the stream: the socket is closed within 250 ms, and the received usage is reported [H-9]', async () => {
    upstream.behave(hanging(chunk('Hello')));
    const leave = async (): Promise<number> => {
      const { stream, client, settlements } = setUp();
      const asked = upstream.nextRequest();
      expect((await stream.next()).value).toEqual([START, text('Hello')]);
      const closed = once((await asked).socket, 'close');
      const leftAt = performance.now();
      client.abort();
      expect(await collect(stream, 'open')).toEqual([usage({ outputTokens: 2 })]);
      await closed;
      const tookMs = performance.now() - leftAt;
      expect(settlements.map((read) => read())).toEqual([
        {
          holdId: '01990000-0000-7000-8000-000000000001',
          accountId: '01990000-0000-7000-8000-000000000002',
          reason: 'client-disconnected',
          usage: estimatedUsage(20, 2),
          upstream: 'test',
        },
      ]);
      return tookMs;
    };
    expect(await leastMs(250, leave)).toBeLessThan(250);
  });

  test('before the head of the reply: the socket is closed, and nothing is billed', async () => {
    upstream.behave(() => {});
    const { stream, client, settlements, lease } = setUp();
    const asked = upstream.nextRequest();
    const events = collect(stream, 'open');
    const closed = once((await asked).socket, 'close');
    client.abort();
    await closed;
    expect(await events).toEqual([START, usage({ promptTokens: 0 })]);
    expect(settlements.map((read) => read().usage?.promptTokens)).toEqual([0]);
    expect(lease.ended).toBe(true);
  });

  test('of a plain request: the collected usage is reported', async () => {
    upstream.behave(hanging(chunk('Hello')));
    const upstreams = [upstream.definition({ capabilities: { streamPlainRequests: true } })];
    const { stream, client, lease } = setUp({ upstreams, request: { stream: false } });
    const events = collect(stream, 'open');
    while (lease.read?.().outputTokens !== 2) await new Promise(setImmediate);
    client.abort();
    expect(await events).toEqual([START, text('Hello'), usage({ outputTokens: 2 })]);
  });

  test('before the call: nothing is sent', async () => {
    const { job, dependencies } = setUp();
    expect(await collect(streamInference(job, reader(AbortSignal.abort()), dependencies), 'open')).toEqual([usage({ promptTokens: 0 })]);
    expect(upstream.calls).toBe(0);
  });

  test('after the end: the proxy settles when the reader may have missed the end', async () => {
    upstream.behave(streaming(chunk('Hello', 'stop'), USAGE_CHUNK, DONE));
    const { stream, client, settlements } = setUp();
    await collect(stream);
    client.abort();
    expect(settlements.map((read) => read())).toMatchObject([{ reason: 'completed', usage: { promptTokens: 12, outputTokens: 3 } }]);
  });

  test('by breaking the loop: the socket is closed too', async () => {
    upstream.behave(hanging(chunk('Hello')));
    const { stream } = setUp();
    const asked = upstream.nextRequest();
    await stream.next();
    const closed = once((await asked).socket, 'close');
    await stream.return();
    await closed;
  });
});

describe('a slow reader does not occupy a route', () => {
  /** Reads up to the terminal event and no further. */
  async function takeAll({ stream }: ReturnType<typeof setUp>): Promise<void> {
    for (let batch = await stream.next(); !batch.done; batch = await stream.next())
      if (batch.value.at(-1)?.type === 'completion-finish') return;
    throw new Error('the stream ended without its last event');
  }
  const inFlight = ({ table }: ReturnType<typeof setUp>) => table.status('here').routes.map((route) => route.inFlight);

  test.each([
    ['a stream', true],
    ['a plain reply', false],
  ])('once %s is complete', async (_, stream) => {
    upstream.behave(stream ? streaming(chunk('Hello', 'stop'), USAGE_CHUNK, DONE) : answering(200, plainReply('Hello')));
    const started = setUp({ upstreams: [upstream.definition({ connectionsMax: 1 })], request: { stream } });
    await takeAll(started);
    expect(inFlight(started)).toEqual([0]);
    const { job, dependencies } = started;
    expect((await collect(streamInference(job, reader(), dependencies))).at(-1)).toEqual(STOP);
  });

  test('once the reply was cut: its socket is closed at once', async () => {
    upstream.behave(hanging(chunk('x'.repeat(2_000))));
    const started = setUp({ outputTokensMax: 100 });
    const closed = upstream.nextRequest().then(({ socket }) => once(socket, 'close'));
    await takeAll(started);
    await closed;
    expect(inFlight(started)).toEqual([0]);
  });

  test('once its lease is lost', async () => {
    upstream.behave(hanging(chunk('Hello')));
    const started = setUp();
    await started.stream.next();
    expect(inFlight(started)).toEqual([1]);
    started.lease.lose?.('revoked');
    expect(inFlight(started)).toEqual([0]);
    await started.stream.return();
  });
});

test('a lost lease stops the upstream and ends the stream with a failure', async () => {
  upstream.behave(hanging(chunk('Hello')));
  const { stream, lease } = setUp();
  const asked = upstream.nextRequest();
  await stream.next();
  const closed = once((await asked).socket, 'close');
  lease.lose?.('lost');
  expect(await collect(stream)).toEqual([usage({ outputTokens: 2 }), failure('model_unavailable')]);
  await closed;
});

test('the usage of a renewal is zero before content, then what was received', async () => {
  upstream.behave(hanging(chunk('Hello')));
  const { stream, lease, client } = setUp();
  const first = stream.next();
  expect(lease.read?.()).toEqual(NO_USAGE);
  await first;
  expect(lease.read?.()).toEqual(estimatedUsage(20, 2));
  client.abort();
  await collect(stream, 'open');
});

test('the body is JSON, and the reply that the client wants is asked for', async () => {
  upstream.behave(answering(200, plainReply('Hello')));
  await collect(setUp({ request: { stream: false } }).stream);
  await collect(setUp().stream);
  const headers = upstream.headers.map((all) => [all['content-type'], all.accept, all['user-agent']]);
  expect(headers).toEqual([
    ['application/json', 'application/json', 'tollgate'],
    ['application/json', 'text/event-stream', 'tollgate'],
  ]);
});

test('a key goes only to the upstream that names it', async () => {
  process.env.UPSTREAM_KEY_TEST = 'secret-1';
  process.env.UPSTREAM_KEY_TEST_HOSTS = `http://127.0.0.1:${upstream.port}`;
  const other = await TestUpstream.start(streaming(chunk('ok', 'stop'), DONE));
  stopAfterwards(other);
  upstream.behave(answering(500, ''));
  const upstreams = [upstream.definition({ apiKeyEnv: 'UPSTREAM_KEY_TEST' }), other.definition({ id: 'other' })];
  await collect(setUp({ upstreams }).stream);
  expect([upstream.headers[0]?.authorization, other.headers[0]?.authorization]).toEqual(['Bearer secret-1', undefined]);
  // The catalog leads the key to another server, which is not declared: it is not called.
  const led = [other.definition({ apiKeyEnv: 'UPSTREAM_KEY_TEST' })];
  const events = await collect(setUp({ upstreams: led }).stream);
  delete process.env.UPSTREAM_KEY_TEST;
  delete process.env.UPSTREAM_KEY_TEST_HOSTS;
  expect([events.at(-1), other.calls]).toEqual([expect.objectContaining({ code: 'model_unavailable' }), 1]);
});

test('calls are counted by their outcome', async () => {
  upstream.behave(streaming(chunk('Hello', 'stop'), USAGE_CHUNK, DONE));
  const { stream, registry } = setUp();
  await collect(stream);
  const metrics = await registry.metrics();
  expect(metrics).toContain(
    'tollgate_upstream_calls_total{upstream="test",model="our-model",upstream_model="their-model",outcome="completed"} 1',
  );
  expect(metrics).toContain('tollgate_upstream_calls_in_flight{upstream="test",model="our-model",upstream_model="their-model"} 0');
  expect(metrics).toContain(
    'tollgate_upstream_tokens_total{upstream="test",model="our-model",upstream_model="their-model",kind="output"} 3',
  );
  const labels =
    'upstream="test",model="our-model",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="their-model"';
  expect(metrics).toContain(`gen_ai_client_operation_duration_seconds_count{${labels}} 1`);
  expect(metrics).toContain(`gen_ai_client_operation_time_to_first_chunk_seconds_count{${labels}} 1`);
  expect(metrics).toContain(`gen_ai_server_time_per_output_token_seconds_count{${labels}} 1`);
  expect(metrics).toContain(`gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="input"} 12`);
  expect(metrics).toContain('tollgate_upstream_breaker_state{upstream="test",model="our-model",upstream_model="their-model"} 0');
  expect(metrics).toContain('tollgate_model_requests_waiting{model="our-model"} 0');
});

test('what one read of the socket brings is one chunk', async () => {
  const read = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  upstream.behave(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk('one'));
    await read[0].promise;
    response.write(chunk('two') + chunk('three'));
    await read[1].promise;
    response.end(chunk('four', 'stop') + DONE);
  });
  const ended = jest.spyOn(RouteMetrics.prototype, 'ended');
  const { stream } = setUp();
  for (const { resolve } of read) {
    await stream.next();
    resolve();
  }
  await collect(stream, 'open');
  expect(ended.mock.calls.map(([{ laterChunks }]) => laterChunks)).toEqual([2]);
  ended.mockRestore();
});

test('two models of one upstream are two routes, each with its own numbers', async () => {
  upstream.behave(streaming(chunk('Hello', 'stop'), DONE));
  const routes = [
    { upstream: 'test', model: 'first' },
    { upstream: 'test', model: 'second', priority: 1 },
  ];
  const { stream, registry } = setUp({ routes });
  await collect(stream);
  const metrics = await registry.metrics();
  const lines = metrics.split('\n').filter((line) => /^tollgate_upstream_(calls_total\{.*"completed"|breaker_state)/.test(line));
  expect(lines.sort()).toEqual([
    'tollgate_upstream_breaker_state{upstream="test",model="our-model",upstream_model="first"} 0',
    'tollgate_upstream_breaker_state{upstream="test",model="our-model",upstream_model="second"} 0',
    'tollgate_upstream_calls_total{upstream="test",model="our-model",upstream_model="first",outcome="completed"} 1',
    'tollgate_upstream_calls_total{upstream="test",model="our-model",upstream_model="second",outcome="completed"} 0',
  ]);
});

test('failures are counted by their kind', async () => {
  upstream.behave((request) => void request.socket.destroy());
  const { stream, registry } = setUp({
    upstreams: [upstream.definition(), { ...upstream.definition({ id: 'gone' }), baseUrl: 'http://127.0.0.1:1/v1' }],
  });
  await collect(stream);
  const metrics = await registry.metrics();
  expect(metrics).toContain(
    'tollgate_upstream_errors_total{upstream="test",model="our-model",upstream_model="their-model",kind="unanswered"} 1',
  );
  expect(metrics).toContain(
    'tollgate_upstream_errors_total{upstream="gone",model="our-model",upstream_model="their-model",kind="unreachable"} 1',
  );
  expect(metrics).toMatch(/gen_ai_client_operation_duration_seconds_count\{upstream="gone",.*error_type="unreachable"\} 1/);
});
