import { Registry } from 'prom-client';
import type { Route } from '#contracts/catalog.js';
import { upstreamNamed } from '../../test/routing-fixture.js';
import { UpstreamFailure, type UpstreamFailureOptions } from '../failures/upstream-failure.js';
import { ProxyMetrics } from '../metrics/proxy-metrics.js';
import type { CallEnd } from '../metrics/route-metrics.js';
import type { RouteView } from './choose-route.js';
import { type RouteCall, RouteState } from './route-state.js';
import { UpstreamState } from './upstream-state.js';

const SECOND = 1_000;
const OPTIONS = { cooldownMs: 3 * SECOND, slowStartMs: 10 * SECOND, retryAfterMaxMs: 60 * SECOND };
const COMPLETED: CallEnd = { outcome: 'completed', failure: undefined, usage: undefined };
const CANCELLED: CallEnd = { outcome: 'cancelled', failure: undefined, usage: undefined };

const upstreams: UpstreamState[] = [];
afterEach(async () => {
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

/** A route, what happens on it, and its clock. */
class Story {
  now = 0;
  readonly route: RouteState;
  /** `Retry-After` of the upstream, as reported to observers. */
  readonly retryAfters: number[] = [];

  constructor() {
    const definition = upstreamNamed('a', { connectionsMax: 999 });
    const upstream = new UpstreamState(definition, () => undefined);
    upstreams.push(upstream);
    const route: Route = { upstream: 'a', model: 'theirs', weight: 1, priority: 0 };
    const metrics = new ProxyMetrics(new Registry()).ofRoute(definition, 'm', 'theirs');
    const retryAfter = (_route: RouteState, ms: number): void => void this.retryAfters.push(ms);
    const observer = { circuitChanged: () => undefined, retryAfter, callEnded: () => undefined };
    this.route = new RouteState(upstream, route, metrics, OPTIONS, observer);
  }

  after(ms: number): this {
    this.now += ms;
    return this;
  }

  begin(isStream = true): RouteCall {
    return this.route.begin('account', isStream, this.now);
  }

  content(call: RouteCall): this {
    call.firstContentAt = this.now;
    this.route.onContent(call, this.now);
    return this;
  }

  end(call: RouteCall, end: CallEnd): this {
    this.route.ended(call, end, this.now);
    return this;
  }

  /** A stream with its first content after so long. */
  answers(firstContentMs: number): this {
    const call = this.begin();
    return this.after(firstContentMs).content(call).end(call, COMPLETED);
  }

  /** Calls one after the other, each cancelled by its client after so long. */
  cancelled(times: number, afterMs: number, isStream = true): this {
    for (let call = 0; call < times; call++) {
      const begun = this.begin(isStream);
      this.after(afterMs).end(begun, CANCELLED);
    }
    return this;
  }

  fails(
    times: number,
    kind: UpstreamFailure['kind'],
    code: UpstreamFailure['code'] = 'upstream_error',
    options?: UpstreamFailureOptions,
  ): this {
    const failure = new UpstreamFailure(kind, code, options);
    for (let call = 0; call < times; call++) this.end(this.begin(), { outcome: code, failure, usage: undefined });
    return this;
  }

  view(isRetry = false): RouteView | undefined {
    return this.route.view('account', isRetry, this.now);
  }

  get circuit(): RouteView['circuit'] | undefined {
    return this.view()?.circuit;
  }
}

const story = (): Story => new Story();

test.each<[UpstreamFailure['kind'], UpstreamFailure['code']]>([
  ['unreachable', 'model_unavailable'],
  ['unanswered', 'upstream_error'],
  ['refused', 'upstream_error'],
  ['denied', 'model_unavailable'],
  ['broken', 'upstream_error'],
  ['limit', 'upstream_error'],
])('five failures in a row open the circuit: %s', (kind, code) => {
  const failing = story().fails(5, kind, code);
  expect([failing.circuit, failing.route.cooldownMs(failing.now)]).toEqual(['open', 3 * SECOND]);
});

test.each<[string, UpstreamFailure['kind'], UpstreamFailure['code']]>([
  ['rejects the request', 'rejected', 'context_length_exceeded'],
  ['returns an empty reply', 'empty', 'upstream_error'],
])('an upstream that %s is healthy', (_what, kind, code) => {
  expect(story().fails(4, 'broken').fails(1, kind, code).fails(4, 'broken').circuit).toBe('closed');
  expect(story().fails(5, 'broken').after(3_000).fails(1, kind, code).circuit).toBe('closed');
});

test('a complete reply without content shows the upstream to be healthy', () => {
  const failing = story().fails(4, 'broken');
  expect(failing.end(failing.begin(), COMPLETED).fails(4, 'broken').circuit).toBe('closed');
});

test.each<[string, UpstreamFailure['kind'], UpstreamFailure['code']]>([
  ['meets an idle connection that was closed', 'stale', 'upstream_error'],
  ['does not fit into the memory of this replica', 'limit', 'model_capacity'],
  ['exceeds the total time of a plain reply', 'slow', 'upstream_timeout'],
  ['is rejected as invalid', 'rejected', 'invalid_request'],
])('a call that %s says nothing about the upstream', (_what, kind, code) => {
  expect(story().fails(4, 'broken').fails(20, kind, code).circuit).toBe('closed');
  expect(story().fails(4, 'broken').fails(1, kind, code).fails(1, 'broken').circuit).toBe('open');
  expect(story().fails(5, 'broken').after(3_000).fails(1, kind, code).circuit).toBe('probe-due');
});

describe('a call that its client ends before any content', () => {
  test('counts as a timeout after slowStartMs', () => {
    const hung = story().cancelled(4, 10_001);
    expect(hung.circuit).toBe('closed');
    expect(hung.cancelled(1, 10_001).circuit).toBe('open');
    expect(hung.route.statistics.lastFailure).toMatchObject({
      kind: 'timeout',
      detail: 'no content after 10 s, when the client disconnected',
    });
  });

  test('says nothing before that', () => {
    expect(story().fails(4, 'broken').cancelled(20, 10_000).circuit).toBe('closed');
    expect(story().fails(5, 'broken').after(3_000).cancelled(1, 10_000).circuit).toBe('probe-due');
  });

  test('says nothing when it is no stream: a plain reply brings its content last', () => {
    expect(story().cancelled(20, 100_000, false).circuit).toBe('closed');
  });

  test('after content, is a healthy call', () => {
    const healthy = story().fails(4, 'broken');
    const call = healthy.begin();
    expect(healthy.content(call).after(100_000).end(call, CANCELLED).fails(4, 'broken').circuit).toBe('closed');
  });
});

test('a circuit that a timeout has opened is not called before its probe is due, not even in panic mode', () => {
  const hung = story().fails(4, 'broken').fails(1, 'timeout', 'upstream_timeout');
  expect(hung.view()).toBeUndefined();
  expect(hung.after(3_000).circuit).toBe('probe-due');
});

test('a retry does not probe, and calls an open circuit only in panic mode', () => {
  const failing = story().fails(5, 'broken').after(3_000);
  expect([failing.circuit, failing.view(true)?.circuit]).toEqual(['probe-due', 'open']);
  expect(story().fails(5, 'timeout', 'upstream_timeout').after(3_000).view(true)).toBeUndefined();
});

describe('Retry-After', () => {
  const RETRY_AFTER = { retryAfterSeconds: 17 };

  test('keeps every call away, and the next one is an ordinary call [U-23]', () => {
    const limited = story().fails(1, 'refused', 'model_capacity', RETRY_AFTER);
    expect([limited.view(), limited.route.cooldownMs(limited.now), limited.route.isAtCapacity(limited.now)]).toEqual([
      undefined,
      17_000,
      true,
    ]);
    expect([limited.route.circuitState(limited.now), limited.after(17_000).circuit, limited.route.isAtCapacity(limited.now)]).toEqual([
      'open',
      'closed',
      false,
    ]);
  });

  test('is honoured up to retryAfterMaxMs, and never shortened by another call', () => {
    const limited = story()
      .fails(1, 'refused', 'model_unavailable', { retryAfterSeconds: 3_600 })
      .fails(1, 'refused', 'model_unavailable', RETRY_AFTER);
    expect([limited.route.cooldownMs(limited.now), limited.route.isAtCapacity(limited.now)]).toEqual([60_000, false]);
    expect(limited.retryAfters).toEqual([60_000]);
  });
});

describe('latency', () => {
  test('is learned from the first content of streams, and from streams that had none in time', () => {
    expect(story().answers(200).view()?.latencyMs).toBe(200);
    const plain = story();
    const call = plain.begin(false);
    expect(plain.after(900).content(call).view()?.latencyMs).toBeUndefined();
    expect(story().cancelled(1, 12_000).view()?.latencyMs).toBe(12_000);
  });

  test('is learned from a plain reply that was not complete within totalMs', () => {
    const slow = story();
    const call = slow.begin(false);
    const failure = new UpstreamFailure('slow', 'upstream_timeout');
    expect(slow.after(600_000).end(call, { outcome: failure.code, failure, usage: undefined }).view()?.latencyMs).toBe(600_000);
  });

  test('counts the stream that has waited longest for content', () => {
    const waiting = story();
    const [first, second] = [waiting.begin(), waiting.after(300).begin()];
    expect(waiting.after(200).view()?.waitingMs).toBe(500);
    expect(waiting.content(first).view()?.waitingMs).toBe(200);
    expect(waiting.end(second, CANCELLED).view()?.waitingMs).toBe(0);
  });
});

test('calls that began before the circuit closed say nothing about the upstream that has come back', () => {
  const back = story().answers(200);
  const lost = [back.begin(), back.begin(), back.begin(), back.begin(), back.begin(), back.begin()];
  back.after(9_000).fails(5, 'broken').after(3_000).answers(100);
  expect(back.view()).toMatchObject({ circuit: 'closed', waitingMs: 0 });
  const failure = new UpstreamFailure('timeout', 'upstream_timeout', { retryAfterSeconds: 60 });
  for (const call of lost) back.end(call, { outcome: failure.code, failure, usage: undefined });
  expect(back.view()).toMatchObject({ circuit: 'closed' });
  expect(back.view()?.latencyMs).toBeLessThan(200);
});

test('the success of any call that began after the circuit opened closes it', () => {
  const failing = story().fails(5, 'broken');
  const inPanic = failing.after(1_000).begin();
  failing.after(2_000).fails(1, 'broken'); // the probe
  expect([failing.circuit, failing.content(inPanic).circuit]).toEqual(['open', 'closed']);
});
