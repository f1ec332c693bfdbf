import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE } from '#inference/usage.js';
import { leastMs } from '#testing/least-ms.js';
import {
  collect,
  failure,
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
import { answering, type Behaviour, chunk, DONE, hanging, streaming, TestUpstream, USAGE_CHUNK } from '../../test/test-upstream.js';
import type { RouteCall } from '../routing/route-state.js';
import type { RoutingOptions } from '../routing/route-table.js';
import { streamInference } from './stream-inference.js';

startUpstreamBeforeEach();

describe('another route', () => {
  let second: TestUpstream;

  beforeEach(async () => {
    second = await TestUpstream.start(streaming(chunk('saved', 'stop'), DONE));
    stopAfterwards(second);
  });

  const both = (over = {}) => [upstream.definition(over), second.definition({ id: 'second' })];
  const REPLY = [text('saved'), usage({ outputTokens: 2 }), STOP];
  /** The reply of the second call, and of a request whose first call goes to the second route. */
  const SAVED: StreamEvent[] = [{ type: 'upstream-start', upstream: 'second', attempt: 2 }, ...REPLY];
  const DIRECT: StreamEvent[] = [{ type: 'upstream-start', upstream: 'second' }, ...REPLY];

  test.each<[string, Behaviour]>([
    ['500', answering(500, '')],
    ['429', answering(429, '')],
    ['a closed socket', (request) => void request.socket.destroy()],
    ['a stream broken before content', streaming(chunk(''))],
    ['a 504', answering(504, '')],
    ['a line beyond every limit', streaming(`data: ${'x'.repeat(2 ** 20)}\n\n`)],
  ])('is tried after %s', async (_name, behaviour) => {
    upstream.behave(behaviour);
    expect(await collect(setUp({ upstreams: both() }).stream)).toEqual(SAVED);
    expect(second.calls).toBe(1);
  });

  test('is tried on a refused connection, each time', async () => {
    const { stream, job, dependencies } = setUp({ upstreams: both({ baseUrl: 'http://127.0.0.1:1/v1' }) });
    expect(await collect(stream)).toEqual(SAVED);
    expect(await collect(streamInference(job, reader(), dependencies))).toEqual(SAVED);
  });

  test.each<[what: string, name: string, make: (path: string) => void]>([
    ['cannot be read', 'a-loop', (path) => symlinkSync(path, path)],
    ['no header can carry', 'two-lines', (path) => writeFileSync(path, 'a b\nc')],
  ])('is tried when the key is in a file that %s', async (_what, name, make) => {
    const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    const { UPSTREAM_SECRETS_DIR = '' } = process.env;
    process.env.UPSTREAM_SECRETS_DIR = folder;
    make(join(folder, name));
    try {
      expect(await collect(setUp({ upstreams: both({ apiKeyFile: name }) }).stream)).toEqual(SAVED);
      expect(upstream.calls).toBe(0);
    } finally {
      process.env.UPSTREAM_SECRETS_DIR = UPSTREAM_SECRETS_DIR;
      rmSync(folder, { recursive: true });
    }
  });

  test('is tried after a timeout', async () => {
    upstream.behave(hanging(chunk('')));
    const timeouts = { connectMs: 1_000, firstByteMs: 50, idleMs: 50, totalMs: 50 };
    expect(await collect(setUp({ upstreams: both({ timeouts }) }).stream)).toEqual(SAVED);
    upstream.behave(() => {});
    expect(await collect(setUp({ upstreams: both({ timeouts }) }).stream)).toEqual(SAVED);
  });

  test('is not tried after failoverMs', async () => {
    upstream.behave(answering(500, ''));
    expect(await collect(setUp({ upstreams: both(), failoverMs: 0 }).stream)).toEqual([START, failure('upstream_error')]);
    expect(second.calls).toBe(0);
  });

  test('is not tried when the retry budget is spent', async () => {
    upstream.behave(answering(500, ''));
    const { stream, job, dependencies } = setUp({ upstreams: both(), terms: { retryPercent: 50, retryBurst: 1 } });
    const again = () => collect(streamInference(job, reader(), dependencies));
    expect(await collect(stream)).toEqual(SAVED);
    const outcomes = [await again(), await again()].map((events) => events.at(-1)?.type);
    expect(outcomes).toEqual(['completion-failure', 'completion-finish']);
  });

  test('is not tried when a stale connection has spent the retry budget', async () => {
    upstream.behave((request, response) => {
      if (upstream.calls === 2) request.socket.destroy();
      else return (upstream.calls === 3 ? answering(500, '') : streaming(chunk('first', 'stop'), DONE))(request, response);
    });
    const terms = { retryPercent: 100, retryBurst: 1 };
    const { stream, job, dependencies } = setUp({ upstreams: both({ connectionsMax: 1 }), terms });
    await collect(stream);
    expect(await collect(streamInference(job, reader(), dependencies))).toEqual([{ ...START, attempt: 2 }, failure('upstream_error')]);
    expect([upstream.calls, second.calls]).toEqual([3, 0]);
  });

  test.each([429, 503])('is used as long as a %i has told the first to wait [U-23]', async (status) => {
    upstream.behave(answering(status, '', { 'retry-after': '30' }));
    const { stream, job, dependencies } = setUp({ upstreams: both() });
    expect(await collect(stream)).toEqual(SAVED);
    expect(await collect(streamInference(job, reader(), dependencies))).toEqual(DIRECT);
    expect(upstream.calls).toBe(1);
  });

  test('is not tried when the request itself is refused', async () => {
    upstream.behave(answering(400, { error: { message: 'prompt is too long' } }));
    expect(await collect(setUp({ upstreams: both() }).stream)).toEqual([START, failure('context_length_exceeded')]);
    expect(second.calls).toBe(0);
  });

  test('is never tried after content, and the received content is billed [T-29]', async () => {
    upstream.behave(streaming(chunk('Hello'), 'data: {"error":"boom"}\n\n', DONE));
    expect(await collect(setUp({ upstreams: both() }).stream)).toEqual([
      START,
      text('Hello'),
      usage({ outputTokens: 2 }),
      failure('upstream_error'),
    ]);
    expect(second.calls).toBe(0);
  });

  test('is tried by a plain request while nothing was returned', async () => {
    upstream.behave(streaming(chunk('half')));
    const events = await collect(
      setUp({ upstreams: both({ capabilities: { streamPlainRequests: true } }), request: { stream: false } }).stream,
    );
    expect(events).toEqual(SAVED);
  });

  describe('is waited for by a plain request, and output of the first route is not billed', () => {
    const OWED = NO_USAGE;

    /** Starts a request whose first upstream fails after content while the second has no room. */
    async function wait(terms: Partial<RoutingOptions> = { queueMax: 1, queueWaitMs: 60_000 }) {
      upstream.behave(streaming(chunk('x'.repeat(400))));
      const upstreams = [
        upstream.definition({ capabilities: { streamPlainRequests: true } }),
        second.definition({ id: 'second', connectionsMax: 1 }),
      ];
      const started = setUp({ upstreams, request: { stream: false }, terms });
      const { table, job, client, stream } = started;
      const asked = { request: job.request, accountId: job.ticket.accountId };
      const first = table.acquire({ ...asked, tried: new Set(), isFirst: true }, client.signal) as RouteCall;
      const taken = table.acquire({ ...asked, tried: new Set([first.route]), isFirst: false }, client.signal) as RouteCall;
      const ended = { outcome: 'cancelled' as const, failure: undefined, usage: undefined };
      first.end(ended);
      const events = collect(stream, 'open');
      while (terms.queueMax && table.status('here').waiting.length === 0) await new Promise(setImmediate);
      return { ...started, events, goOn: () => taken.end(ended) };
    }

    test('when the route becomes free', async () => {
      const { lease, events, goOn } = await wait();
      expect(lease.read?.()).toEqual(OWED);
      goOn();
      expect(await events).toEqual([{ ...SAVED[0], queueMs: expect.any(Number) }, ...REPLY]);
    });

    test('when the client leaves', async () => {
      const { client, events, settlements } = await wait();
      client.abort();
      expect(await events).toEqual([usage(OWED)]);
      expect(settlements.map((read) => read())).toMatchObject([{ reason: 'client-disconnected', usage: OWED, upstream: undefined }]);
    });

    test('when the hold is lost', async () => {
      const { lease, client, events, settlements } = await wait();
      lease.lose?.('lost');
      expect(await events).toEqual([failure('model_unavailable')]);
      client.abort();
      expect(settlements.map((read) => read())).toMatchObject([{ reason: 'failed', usage: undefined, upstream: undefined }]);
    });

    test('when no route becomes free', async () => {
      const { client, events, settlements } = await wait({ queueMax: 0 });
      expect(await events).toEqual([START, failure('upstream_error')]);
      client.abort();
      expect(settlements.map((read) => read())).toMatchObject([{ reason: 'failed', usage: undefined, upstream: 'test' }]);
    });
  });

  test('is tried when the first reply is empty [M-30]', async () => {
    upstream.behave(streaming(chunk('', 'stop'), USAGE_CHUNK, DONE));
    expect(await collect(setUp({ upstreams: both() }).stream)).toEqual(SAVED);
  });

  describe('when the first rejects the request', () => {
    const REJECTED = {
      ...{ type: 'completion-failure', code: 'invalid_request', retryAfterSeconds: undefined },
      message: "The model's server rejected this request: bad field",
    };
    const reject = () => upstream.behave(answering(400, { error: { message: 'bad field' } }));

    test('is not tried when it speaks the same dialect [T-53]', async () => {
      reject();
      expect(await collect(setUp({ upstreams: both() }).stream)).toEqual([START, REJECTED]);
      expect([upstream.calls, second.calls]).toEqual([1, 0]);
    });

    test('is tried when it speaks another dialect', async () => {
      reject();
      const other = { ...second.definition({ id: 'second' }), kind: 'anthropic-messages' as const };
      second.behave(
        answering(200, {
          type: 'message',
          content: [{ type: 'text', text: 'saved' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 3, output_tokens: 1 },
        }),
      );
      const events = await collect(setUp({ upstreams: [upstream.definition(), other], request: { stream: false } }).stream);
      expect(events).toContainEqual(text('saved'));
      expect([upstream.calls, second.calls]).toEqual([1, 1]);
    });

    test('the rejection is reported when the other dialect fails', async () => {
      reject();
      const other = { ...second.definition({ id: 'second' }), kind: 'anthropic-messages' as const };
      second.behave(answering(503, ''));
      const events = await collect(setUp({ upstreams: [upstream.definition(), other] }).stream);
      expect(events.at(-1)).toEqual(REJECTED);
      expect([upstream.calls, second.calls]).toEqual([1, 1]);
    });
  });

  test('attempts are limited, and the last failure is returned', async () => {
    upstream.behave(answering(500, ''));
    second.behave(answering(503, ''));
    const events = await collect(setUp({ upstreams: both(), attemptsMax: 2 }).stream);
    expect(events).toEqual([{ type: 'upstream-start', upstream: 'second', attempt: 2 }, failure('model_unavailable', 1)]);
    expect([upstream.calls, second.calls]).toEqual([1, 1]);
  });
});

describe('room', () => {
  test('a complete reply that keeps its socket open does not delay other requests', async () => {
    upstream.behave((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk('ok', 'stop') + DONE);
    });
    const { stream, job, dependencies } = setUp({ upstreams: [upstream.definition({ connectionsMax: 1 })] });
    await collect(stream);
    const threeMore = async (): Promise<number> => {
      const since = performance.now();
      for (let request = 0; request < 3; request++)
        expect((await collect(streamInference(job, reader(), dependencies))).at(-1)).toEqual(STOP);
      return performance.now() - since;
    };
    // While its socket is not needed, a reply has a second to end.
    expect(await leastMs(1_000, threeMore)).toBeLessThan(1_000);
    expect((upstream.connections - 1) % 3).toBe(0);
  });

  test('a reader that leaves while waiting makes no call and is not billed', async () => {
    upstream.behave(hanging(chunk('one')));
    const terms = { queueMax: 9, queueWaitMs: 5_000 };
    const { stream, job, dependencies } = setUp({ upstreams: [upstream.definition({ connectionsMax: 1 })], terms });
    await stream.next();
    const leaving = new AbortController();
    const waiting = collect(streamInference(job, reader(leaving.signal), dependencies), 'open');
    leaving.abort();
    expect(await waiting).toEqual([usage({ promptTokens: 0 })]);
    expect(upstream.calls).toBe(1);
    await stream.return();
  });
});
