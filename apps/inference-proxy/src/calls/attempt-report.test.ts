import type { Attempt } from '#inference/attempt.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { collect, type Setting, setUp, startUpstreamBeforeEach, stopAfterwards, upstream } from '../../test/inference-fixture.js';
import { answering, chunk, DONE, hanging, streaming, TestUpstream } from '../../test/test-upstream.js';

startUpstreamBeforeEach();

/** Starts a request of a gateway that wants the report. */
function start(setting: Partial<Setting> = {}) {
  const started = setUp(setting);
  started.job.ticket.reportsAttempts = true;
  return started;
}

function readAttempts(events: readonly StreamEvent[]): readonly Attempt[] {
  return events.flatMap((event) => (event.type === 'attempts-report' ? event.attempts : []));
}

const MS: number = expect.any(Number) as never;

test('a failover reports both calls, with the kind of the failure, in the order of time', async () => {
  upstream.behave(answering(503, ''));
  const second = await TestUpstream.start(streaming(chunk('saved', 'stop'), DONE));
  stopAfterwards(second);
  const events = await collect(start({ upstreams: [upstream.definition(), second.definition({ id: 'second' })] }).stream);
  expect(events.map(({ type }) => type)).toEqual(['upstream-start', 'text-delta', 'usage-report', 'attempts-report', 'completion-finish']);
  const attempts = readAttempts(events);
  expect(attempts).toEqual([
    { upstream: 'test', startMs: MS, firstByteMs: MS, endMs: MS, failure: 'refused', status: 503, reason: expect.stringContaining('503') },
    { upstream: 'second', startMs: MS, firstByteMs: MS, endMs: MS },
  ]);
  const moments = attempts.flatMap(({ startMs, firstByteMs = 0, endMs = 0 }) => [startMs, firstByteMs, endMs]);
  expect(moments).toEqual(moments.toSorted((one, other) => one - other));
});

test('a call that reaches no server has no first byte', async () => {
  const events = await collect(start({ upstreams: [upstream.definition({ baseUrl: 'http://127.0.0.1:1/v1' })] }).stream);
  expect(events.map(({ type }) => type).slice(-2)).toEqual(['attempts-report', 'completion-failure']);
  expect(readAttempts(events)).toEqual([
    { upstream: 'test', startMs: MS, endMs: MS, failure: 'unreachable', reason: expect.stringContaining('ECONNREFUSED') },
  ]);
});

test('a plain reply has the report in its one batch', async () => {
  upstream.behave(answering(200, { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }));
  const batches = [];
  for await (const batch of start({ request: { stream: false } }).stream) batches.push(batch);
  expect(batches.map(readAttempts)).toEqual([[{ upstream: 'test', startMs: MS, firstByteMs: MS, endMs: MS }]]);
});

test('a client that leaves ends the call without a failure', async () => {
  upstream.behave(hanging(chunk('Hello')));
  const { stream, leave } = start();
  await stream.next();
  const rest = collect(stream, 'open');
  leave();
  expect((await rest).map(({ type }) => type)).toEqual(['attempts-report', 'usage-report']);
});

test('a reply that is read on without its client is reported as running', async () => {
  upstream.behave(hanging(chunk('Hello')));
  const { stream, leave, closing } = start({ upstreams: [upstream.definition({ capabilities: { hiddenReasoning: true } })] });
  await stream.next();
  const rest = collect(stream, 'open');
  leave();
  const events = await rest;
  expect(events.map(({ type }) => type)).toEqual(['attempts-report', 'settlement-deferred']);
  expect(readAttempts(events)).toEqual([{ upstream: 'test', startMs: MS, firstByteMs: MS }]);
  closing.abort();
});

test('a gateway that does not ask gets no report', async () => {
  upstream.behave(streaming(chunk('Hello', 'stop'), DONE));
  expect(readAttempts(await collect(setUp().stream))).toEqual([]);
});
