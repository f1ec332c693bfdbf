import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE, type Usage } from '#inference/usage.js';
import { testCases } from '#testing/long-run.js';
import { reportedUsage } from '#testing/token-usage.js';
import { collect, type Setting, START, setUp, startUpstreamBeforeEach, text, upstream, usage } from '../../test/inference-fixture.js';
import { chunk, DONE, hanging } from '../../test/test-upstream.js';
import { BEGUN_AFTER_MS } from './usage-meter.js';

const DEFERRED: StreamEvent = { type: 'settlement-deferred' };
const SETTLEMENT = {
  holdId: '01990000-0000-7000-8000-000000000001',
  accountId: '01990000-0000-7000-8000-000000000002',
  reason: 'client-disconnected',
  upstream: 'test',
};
const CAP = 4_000;
const PROMPT: Usage = { ...NO_USAGE, promptTokens: 20 };
const HIDDEN_REPORT = { prompt_tokens: 12, completion_tokens: 3_000, total_tokens: 3_012 };
const REPORTED: Usage = reportedUsage(12, 3_000);
const END = chunk('', 'stop') + usageChunk(HIDDEN_REPORT) + DONE;

startUpstreamBeforeEach();

function usageChunk(counts: object): string {
  return `data: ${JSON.stringify({ choices: [], usage: counts })}\n\n`;
}

interface Terms {
  hiddenReasoning?: boolean;
  hiddenTokensFloor?: number;
  readOnMs?: number;
  streamPlainRequests?: boolean;
}

function startWith(terms: Terms, setting: Partial<Setting> = {}) {
  const { readOnMs = 30_000, ...capabilities } = terms;
  const timeouts = { connectMs: 1_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 20_000, readOnMs };
  const upstreams = [upstream.definition({ capabilities, timeouts })];
  return setUp({ upstreams, outputTokensMax: CAP, ...setting });
}

/** Makes the upstream send the first parts of a stream, and the rest on `finish`. */
function inTwoParts(...first: string[]): { finish(...rest: string[]): Promise<void>; response: Promise<ServerResponse> } {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  upstream.behave(async (request, response) => {
    await hanging(...first)(request, response);
    resolve(response);
  });
  return { finish: async (...rest) => void (await promise).end(rest.join('')), response: promise };
}

/** Resolves when the proxy has read what the upstream wrote. Both run in this process. */
async function untilRead(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
}

async function settled(started: ReturnType<typeof setUp>): Promise<unknown> {
  expect(started.settlements).toEqual([]);
  expect(started.deferred).toHaveLength(1);
  return started.deferred[0];
}

describe('a client disconnects from an upstream with hidden output', () => {
  test('in a stream: the stream ends at once, and the usage that the upstream reports is settled [T-39]', async () => {
    const replies = inTwoParts(chunk('Hello'));
    const started = startWith({ hiddenReasoning: true });
    expect((await started.stream.next()).value).toEqual([START, text('Hello')]);
    const rest = collect(started.stream, 'open');
    started.leave();
    expect(await rest).toEqual([DEFERRED]);
    expect(started.lease.ended).toBeUndefined();
    await replies.finish(chunk(' you'), END);
    expect(await settled(started)).toEqual({ ...SETTLEMENT, usage: REPORTED });
    expect(started.lease.ended).toBe(true);
  });

  test('before the first content', async () => {
    const replies = inTwoParts();
    const started = startWith({ hiddenReasoning: true });
    const events = collect(started.stream, 'open');
    await replies.response;
    await untilRead();
    started.leave();
    expect(await events).toEqual([START, DEFERRED]);
    await replies.finish(chunk('Hello'), END);
    expect(await settled(started)).toEqual({ ...SETTLEMENT, usage: REPORTED });
  });

  test('while its reader is slow', async () => {
    const replies = inTwoParts(chunk('Hello'));
    const started = startWith({ hiddenReasoning: true });
    await started.stream.next();
    started.leave();
    await replies.finish(END);
    expect(await settled(started)).toEqual({ ...SETTLEMENT, usage: REPORTED });
    expect(await collect(started.stream, 'open')).toEqual([DEFERRED]);
  });

  test.each<[string, Terms, number]>([
    ['pays the floor besides what was counted', { hiddenTokensFloor: 500 }, 502],
    ['pays 1,024 tokens of floor by default', {}, 1_026],
    ['pays no more than the cap', { hiddenTokensFloor: 10_000 }, CAP],
  ])('without a report in time it %s, and the socket is closed', async (_name, terms, outputTokens) => {
    const replies = inTwoParts(chunk('Hello'));
    const started = startWith({ hiddenReasoning: true, readOnMs: 100, ...terms });
    await started.stream.next();
    const response = await replies.response;
    const closed = once(response, 'close');
    started.leave();
    const reasoningTokens = Math.min(outputTokens, terms.hiddenTokensFloor ?? 1_024);
    expect(await settled(started)).toEqual({ ...SETTLEMENT, usage: { ...PROMPT, outputTokens, reasoningTokens, outputSource: 'floor' } });
    await closed;
  });

  test('a shutdown ends the reading, at the floor', async () => {
    inTwoParts(chunk('Hello'));
    const started = startWith({ hiddenReasoning: true });
    await started.stream.next();
    started.leave();
    started.closing.abort();
    expect(await settled(started)).toMatchObject({ usage: { outputTokens: 1_026, outputSource: 'floor' } });
  });

  test('a lost hold ends the reading, at the floor', async () => {
    inTwoParts(chunk('Hello'));
    const started = startWith({ hiddenReasoning: true });
    await started.stream.next();
    started.leave();
    started.lease.lose?.('revoked');
    expect(await settled(started)).toMatchObject({ usage: { outputTokens: 1_026, outputSource: 'floor' } });
  });

  test('an upstream that ignores its cap is cut and billed at the cap', async () => {
    const replies = inTwoParts(chunk('Hello'));
    const started = startWith({ hiddenReasoning: true });
    await started.stream.next();
    started.leave();
    const closed = once(await replies.response, 'close');
    (await replies.response).write(chunk('x'.repeat(4 * (2 * CAP + 100))));
    expect(await settled(started)).toEqual({ ...SETTLEMENT, usage: { ...PROMPT, outputTokens: CAP } });
    await closed;
  });

  test('its route stays in use until the reply ends', async () => {
    const replies = inTwoParts(chunk('Hello'));
    const started = startWith({ hiddenReasoning: true });
    const inFlight = () => started.table.status('here').routes.map((route) => route.inFlight);
    await started.stream.next();
    started.leave();
    await collect(started.stream, 'open');
    expect(inFlight()).toEqual([1]);
    await replies.finish(END);
    await settled(started);
    expect(inFlight()).toEqual([0]);
  });

  test('a lost gateway closes the upstream at once', async () => {
    const replies = inTwoParts(chunk('Hello'));
    const { stream, client, deferred, settlements } = startWith({ hiddenReasoning: true });
    await stream.next();
    const closed = once(await replies.response, 'close');
    client.abort();
    await closed;
    expect(await collect(stream, 'open')).toEqual([usage({ outputTokens: 2 })]);
    expect({ deferred, settlements: settlements.map((read) => read().usage) }).toEqual({
      deferred: [],
      settlements: [{ ...PROMPT, outputTokens: 2 }],
    });
  });
});

describe('a client disconnects before the first content', () => {
  test('after the upstream has answered: it pays for the prompt [T-39]', async () => {
    const replies = inTwoParts();
    const started = startWith({ hiddenReasoning: false });
    const events = collect(started.stream, 'open');
    await replies.response;
    await untilRead();
    expect(started.lease.read?.()).toEqual(NO_USAGE);
    started.leave();
    expect(await events).toEqual([START, usage({})]);
    expect(started.settlements.map((read) => read())).toEqual([{ ...SETTLEMENT, usage: PROMPT }]);
  });

  test.each([
    ['as soon as it was sent: nothing', 0, 0],
    [`${BEGUN_AFTER_MS} ms after it was sent: the prompt`, BEGUN_AFTER_MS + 50, 20],
  ])('which the upstream has not answered, %s', async (_name, afterMs, promptTokens) => {
    upstream.behave(() => {});
    const started = startWith({ hiddenReasoning: false }, { request: { stream: false } });
    const asked = upstream.nextRequest();
    const events = collect(started.stream, 'open');
    await asked;
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    started.leave();
    expect(await events).toEqual([START, usage({ promptTokens })]);
  });

  test('after an attempt that failed: nothing for it', async () => {
    upstream.behave((_request, response) => {
      if (upstream.calls === 1) response.writeHead(500).end();
    });
    const capabilities = { hiddenReasoning: false };
    const started = startWith(
      {},
      { upstreams: [upstream.definition({ capabilities }), upstream.definition({ id: 'other', capabilities })] },
    );
    const events = collect(started.stream, 'open');
    while (upstream.calls < 2) await new Promise(setImmediate);
    started.leave();
    expect(await events).toEqual([{ ...START, upstream: 'other', attempt: 2 }, usage({ promptTokens: 0 })]);
  });

  test('after the upstream has counted the prompt: it pays for that count', async () => {
    const begin = { type: 'message_start', message: { usage: { input_tokens: 75_000, cache_read_input_tokens: 5_000, output_tokens: 1 } } };
    const { response } = inTwoParts(`event: message_start\ndata: ${JSON.stringify(begin)}\n\n`);
    const capabilities = { hiddenReasoning: false };
    const started = setUp({ upstreams: [upstream.definition({ kind: 'anthropic-messages', capabilities })] });
    const events = collect(started.stream, 'open');
    await response;
    await untilRead();
    started.leave();
    expect(await events).toEqual([START, usage({ promptTokens: 80_000, cachedTokens: 5_000, promptSource: 'reported' })]);
  });
});

/** One reply of an upstream. */
interface Reply {
  pieces: string[];
  hiddenTokens: number;
  end: 'reported' | 'not reported' | 'broken';
  stream: boolean;
  /** Index of the first delta after the client has disconnected. */
  leavesBefore: number;
}

const reply: fc.Arbitrary<Reply> = fc.record({
  pieces: fc.array(fc.string({ minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 6 }),
  hiddenTokens: fc.integer({ min: 0, max: CAP }),
  end: fc.constantFrom('reported', 'not reported', 'broken'),
  stream: fc.boolean(),
  leavesBefore: fc.integer({ min: 1, max: 6 }),
});

async function billReply({ pieces, hiddenTokens, end, stream, leavesBefore }: Reply, leaves: boolean): Promise<Usage> {
  const output = Math.min(CAP, Math.ceil(Buffer.byteLength(pieces.join('')) / 4) + hiddenTokens);
  const counts = { prompt_tokens: 12, completion_tokens: output, total_tokens: 12 + output };
  const isLeft = Promise.withResolvers<void>();
  upstream.behave(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [index, piece] of pieces.entries()) {
      if (index === Math.min(leavesBefore, pieces.length)) await isLeft.promise;
      response.write(chunk(piece));
    }
    await isLeft.promise;
    response.end(end === 'broken' ? '' : chunk('', 'stop') + (end === 'reported' ? usageChunk(counts) : '') + DONE);
  });
  const started = startWith({ hiddenReasoning: true, streamPlainRequests: true }, { request: { stream } });
  if (!leaves) isLeft.resolve();
  const rest = collect(started.stream, leaves ? 'open' : 'terminal');
  if (leaves) {
    while ((started.lease.read?.().outputTokens ?? 0) === 0) await new Promise(setImmediate);
    started.leave();
    isLeft.resolve();
  }
  const reports = (await rest).flatMap((event) => (event.type === 'usage-report' ? [event.usage] : []));
  const [deferred] = await Promise.all(started.deferred);
  return (deferred ? deferred.usage : reports.at(-1)) ?? NO_USAGE;
}

testCases(
  'a client that disconnects pays what the complete reply would have cost, and never more output than it asked for',
  { usual: 40, long: 5_000 },
  reply,
  async (said) => {
    const [stayed, left] = [await billReply(said, false), await billReply(said, true)];
    expect(left).toEqual(stayed);
    expect(left.outputTokens).toBeLessThanOrEqual(CAP);
  },
);
