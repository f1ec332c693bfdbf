import { Registry } from 'prom-client';
import type { Route } from '#contracts/catalog.js';
import { upstreamNamed } from '../../test/routing-fixture.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { ProxyMetrics } from '../metrics/proxy-metrics.js';
import { type CallEnd, type RouteCall } from './route-call.js';
import { RouteState } from './route-state.js';
import { UpstreamState } from './upstream-state.js';

const SECOND = 1_000;
const TERMS = { restMs: SECOND, restMsMax: 2 * SECOND, waitMsMax: 60 * SECOND };
const DONE: CallEnd = { outcome: 'completed', failure: undefined, usage: undefined };
const LEFT: CallEnd = { outcome: 'cancelled', failure: undefined, usage: undefined };

const upstreams: UpstreamState[] = [];
afterEach(async () => {
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

/** A route, what happens on it, and the time, which is the test's own. */
class Story {
  now = 0;
  readonly route: RouteState;

  constructor() {
    const timeouts = { connectMs: 5 * SECOND, firstByteMs: 120 * SECOND, idleMs: SECOND, totalMs: SECOND };
    const definition = upstreamNamed('a', { timeouts, connectionsMax: 999 });
    const upstream = new UpstreamState(definition);
    upstreams.push(upstream);
    const route: Route = { upstream: 'a', model: 'theirs', weight: 1, priority: 0 };
    const metrics = new ProxyMetrics(new Registry()).ofRoute(definition, 'm', 'theirs');
    const observer = { breakerMoved: () => undefined, callEnded: () => undefined };
    this.route = new RouteState(upstream, { route, client: upstream.client, metrics }, TERMS, observer);
    upstream.routes.add(this.route);
  }

  begin(isStream = true): RouteCall {
    return this.route.begin('account', isStream, this.now);
  }

  after(ms: number): this {
    this.now += ms;
    return this;
  }

  end(call: RouteCall, end: CallEnd): this {
    this.route.ended(call, end, this.now);
    return this;
  }

  /** A stream that brings its first content after so long, and ends. */
  answers(firstContentMs: number): this {
    const call = this.begin();
    this.after(firstContentMs);
    call.firstContentAt = this.now;
    this.route.contentCame(call, this.now);
    return this.end(call, DONE);
  }

  /** Calls one after the other, each given up by its client after so long. */
  left(times: number, afterMs: number, isStream = true): this {
    for (let call = 0; call < times; call++) {
      const begun = this.begin(isStream);
      this.after(afterMs).end(begun, LEFT);
    }
    return this;
  }

  fails(times: number, kind: UpstreamFailure['kind'], code: UpstreamFailure['code'] = 'upstream_error'): this {
    const failure = new UpstreamFailure(kind, code);
    for (let call = 0; call < times; call++) this.end(this.begin(), { outcome: code, failure, usage: undefined });
    return this;
  }

  get state(): string {
    return this.route.breaker.state;
  }

  get waitingMs(): number {
    return Math.round(this.route.waitingMs(this.now));
  }

  /** Until it may be called again. */
  get restMs(): number {
    return Math.max(0, this.route.restMs(this.now));
  }
}

const story = (): Story => new Story();

describe('a stream that its client leaves before it has content', () => {
  test('takes at least as long as it was waited for, and what several wait in a row adds up', () => {
    expect(story().left(1, 300).waitingMs).toBe(300);
    const several = story();
    const calls = [several.begin(), several.begin(), several.begin()];
    several.after(300);
    for (const call of calls) several.end(call, LEFT);
    expect(several.waitingMs).toBe(900);
  });

  test('is forgotten within seconds, and at once when content comes', () => {
    expect(story().left(1, 300).after(2_000).waitingMs).toBe(110);
    expect(story().left(1, 300).after(4_001).waitingMs).toBe(0);
    expect(story().left(5, 300).answers(20).waitingMs).toBe(0);
  });

  test('is a failure when it has waited for ten seconds, and five times the usual: five in a row have the route rest', () => {
    const quick = story().answers(200);
    expect(quick.left(4, 10 * SECOND).state).toBe('closed');
    expect(quick.left(1, 10 * SECOND).state).toBe('open');
    expect(quick.route.statistics.lastFailure).toMatchObject({ kind: 'timeout', detail: 'no content for 10 s, until the client left' });
  });

  test('is one failure together with all that leave at the same time: they may be a batch that somebody has stopped', () => {
    const batch = story().answers(200);
    const calls = Array.from({ length: 50 }, () => batch.begin());
    batch.after(20 * SECOND);
    for (const call of calls) batch.end(call, LEFT);
    expect(batch.state).toBe('closed');
  });

  test.each([
    ['less than ten seconds', 200, 9_999],
    ['less than five times the usual, of a model that thinks for a minute', 60 * SECOND, 120 * SECOND],
  ])('is none when it has waited for %s', (_what, usualMs, leftAfterMs) => {
    expect(story().answers(usualMs).left(20, leftAfterMs).state).toBe('closed');
  });

  test('is none on a route that has never answered: nobody knows what is usual', () => {
    expect(story().left(20, 100 * SECOND).state).toBe('closed');
  });

  test('is none when it has had content, nor is a plain reply: it may take long', () => {
    expect(
      story()
        .answers(200)
        .left(20, 100 * SECOND, false).state,
    ).toBe('closed');
    const answered = story().answers(200);
    for (let call = 0; call < 20; call++) {
      const begun = answered.begin();
      begun.firstContentAt = answered.after(100).now;
      answered.route.contentCame(begun, answered.now);
      answered.after(100 * SECOND).end(begun, LEFT);
    }
    expect([answered.state, answered.waitingMs]).toEqual(['closed', 0]);
  });
});

describe('a probe', () => {
  const rested = (): Story => story().answers(200).fails(5, 'broken').after(SECOND);

  test('that its client leaves sooner than answers usually come gives its place to the next, however often', () => {
    const probing = rested().left(9, 199);
    expect([probing.state, probing.restMs]).toEqual(['half-open', 0]);
    expect([probing.answers(200).state, probing.restMs]).toEqual(['closed', 0]);
  });

  test('that is waited for longer in vain holds up the next', () => {
    expect(rested().left(1, 200).restMs).toBe(800);
  });

  test.each<[string, UpstreamFailure['kind'], UpstreamFailure['code']]>([
    ['meets an idle connection that was closed', 'stale', 'upstream_error'],
    ['meets no room of ours', 'limit', 'model_capacity'],
  ])('that %s gives its place to the next', (_what, kind, code) => {
    const probing = rested().fails(1, kind, code);
    expect([probing.state, probing.restMs]).toEqual(['half-open', 0]);
  });

  test('as a plain request that is left within a second does, too', () => {
    const probing = rested();
    const call = probing.begin(false);
    expect(probing.after(500).restMs).toBe(500);
    expect(probing.end(call, LEFT).restMs).toBe(0);
  });
});

describe('an upstream that has come back', () => {
  test('is not ill again for what probes that were begun before still tell', () => {
    const back = story().fails(5, 'broken').after(SECOND);
    const first = back.begin();
    const second = back.after(SECOND).begin();
    back.after(100).route.contentCame(second, back.now);
    const failure = new UpstreamFailure('unreachable', 'model_unavailable');
    back.after(3_900).end(first, { outcome: failure.code, failure, usage: undefined });
    expect(back.state).toBe('closed');
  });

  test('is neither slow nor failing for how long calls have been waiting that were begun before', () => {
    const back = story().answers(200);
    const lost = back.begin();
    back
      .after(9 * SECOND)
      .fails(5, 'broken')
      .after(SECOND);
    const probe = back.begin();
    probe.firstContentAt = back.after(100).now;
    back.route.contentCame(probe, back.now);
    expect([back.state, back.waitingMs]).toEqual(['closed', 0]);
    back.after(SECOND).end(lost, LEFT);
    expect([back.waitingMs, back.route.statistics.lastFailure?.kind]).toEqual([0, 'broken']);
  });
});

describe('a reply without content', () => {
  const EMPTY = new UpstreamFailure('empty', 'upstream_error');

  test.each<[string, CallEnd]>([
    ['that is complete, cut by its length while it was thinking', DONE],
    ['that should have had some', { outcome: EMPTY.code, failure: EMPTY, usage: undefined }],
  ])('%s shows the upstream to be well', (_what, end) => {
    const failing = story().fails(4, 'broken');
    for (let call = 0; call < 20; call++) failing.end(failing.begin(), end);
    expect(failing.fails(4, 'broken').state).toBe('closed');
    const probing = story().fails(5, 'broken').after(SECOND);
    expect(probing.end(probing.begin(), end).state).toBe('closed');
  });
});
