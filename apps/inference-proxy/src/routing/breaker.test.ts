import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { type Breaker, type BreakerEvent, callableAt, lastResortAt, NEW_BREAKER, reduce, trafficShare } from './breaker.js';

const TERMS = { restMs: 1_000, restMsMax: 4_000, waitMsMax: 60_000 };
/** It failed, and quickly. */
const FAILED = { isBusy: false, mayBeTried: true };

/** A breaker and its clock: what happens to it, `afterMs` apart. */
class Story {
  breaker: Breaker = NEW_BREAKER;
  now = 0;

  after(ms: number): this {
    this.now += ms;
    return this;
  }

  happens(
    type: 'call-begun' | 'call-succeeded' | 'call-failed' | 'call-withdrawn' | 'unreachable',
    times = 1,
    epoch = this.breaker.epoch,
  ): this {
    for (let time = 0; time < times; time++) this.breaker = reduce(this.breaker, { type, epoch, ...FAILED }, this.now, TERMS);
    return this;
  }

  isTold(forMs: number): this {
    this.breaker = reduce(this.breaker, { type: 'told-to-wait', epoch: this.breaker.epoch, isBusy: true, forMs }, this.now, TERMS);
    return this;
  }

  /** Until it may be called for want of another route. */
  get lastResortMs(): number {
    return Math.max(0, lastResortAt(this.breaker, TERMS) - this.now);
  }

  get summary() {
    return [this.breaker.state, Math.max(0, callableAt(this.breaker) - this.now)];
  }
}

const story = (): Story => new Story();

describe('a closed breaker', () => {
  test('opens after five failures in a row, not after four', () => {
    expect(story().happens('call-failed', 4).summary).toEqual(['closed', 0]);
    expect(story().happens('call-failed', 5).summary).toEqual(['open', 1_000]);
    expect(story().happens('call-failed', 4).happens('call-succeeded').happens('call-failed', 4).summary).toEqual(['open', 1_000]);
  });

  test('counts a row however slowly it comes', () => {
    const slow = story();
    for (let call = 0; call < 5; call++) slow.after(60_000).happens('call-failed');
    expect(slow.summary).toEqual(['open', 1_000]);
  });

  test('opens when half of the calls of the last seconds failed, and not for a third', () => {
    const half = story();
    for (let call = 0; call < 5; call++) half.happens('call-succeeded').happens('call-failed');
    expect(half.summary).toEqual(['open', 1_000]);
    const third = story();
    for (let call = 0; call < 100; call++) third.after(50).happens('call-succeeded', 2).happens('call-failed');
    expect(third.summary).toEqual(['closed', 0]);
  });

  test('forgets what is more than ten seconds old', () => {
    const old = story().happens('call-succeeded', 40).after(10_000).happens('call-succeeded', 4);
    for (let call = 0; call < 4; call++) old.happens('call-failed').happens('call-succeeded');
    expect(old.summary).toEqual(['closed', 0]);
    expect(old.happens('call-failed', 4).summary).toEqual(['open', 1_000]);
  });

  test('opens at once when nobody can be reached', () => {
    expect(story().happens('unreachable').summary).toEqual(['open', 1_000]);
  });

  test('rests as long as it is told [U-23]', () => {
    expect(story().isTold(17_000).summary).toEqual(['open', 17_000]);
  });
});

describe('an open breaker', () => {
  const tripped = (): Story => story().happens('unreachable');

  test('lets one probe through when it has rested, and another now and then while none says anything', () => {
    const probing = tripped().after(1_000);
    expect(probing.summary).toEqual(['open', 0]);
    expect(probing.happens('call-begun').summary).toEqual(['half-open', 1_000]);
    const gaps: unknown[] = [];
    for (let probe = 0; probe < 5; probe++) {
      gaps.push(probing.summary[1]);
      probing.after(8_000).happens('call-begun');
    }
    expect(gaps).toEqual([1_000, 2_000, 4_000, 8_000, 8_000]);
  });

  test('closes when a probe succeeds, and traffic comes back little by little', () => {
    const back = tripped().after(1_000).happens('call-begun').after(50).happens('call-succeeded');
    expect(back.summary).toEqual(['closed', 0]);
    const shares = [0, 100, 1_000, 3_000, 4_000, 9_000].map((ms) => trafficShare(back.breaker, back.now + ms));
    expect(shares).toEqual([0.1, 0.1, 0.25, 0.75, 1, 1]);
  });

  test('rests twice as long after each failed probe, up to the limit', () => {
    const failing = tripped();
    const rests: unknown[] = [];
    for (let probe = 0; probe < 5; probe++) {
      rests.push(failing.summary[1]);
      failing.after(4_000).happens('call-begun').happens('call-failed');
    }
    expect(rests).toEqual([1_000, 2_000, 4_000, 4_000, 4_000]);
  });

  test('rests longer when it trips again soon after it closed, not when it was well for a while', () => {
    const closed = (): Story => tripped().after(1_000).happens('call-begun').happens('call-succeeded');
    expect(closed().after(2_000).happens('unreachable').summary).toEqual(['open', 2_000]);
    expect(closed().after(10_000).happens('unreachable').summary).toEqual(['open', 1_000]);
  });

  test('that a probe has closed hears no more of the others, which were begun while the upstream was ill', () => {
    const back = tripped().after(1_000).happens('call-begun').after(1_000).happens('call-begun');
    const { epoch } = back.breaker;
    const closed = back.after(100).happens('call-succeeded').breaker;
    expect(closed.state).toBe('closed');
    expect(back.after(3_900).happens('unreachable', 1, epoch).happens('call-failed', 9, epoch).breaker).toBe(closed);
  });

  test('has room for another probe at once when one ends that says nothing, and no sooner than it has rested', () => {
    const probing = tripped().after(1_000).happens('call-begun').after(1_000).happens('call-begun');
    expect(probing.summary).toEqual(['half-open', 2_000]);
    expect(probing.happens('call-withdrawn').summary).toEqual(['half-open', 0]);
    expect(probing.happens('call-begun').summary).toEqual(['half-open', 2_000]);
    const early = tripped().after(100).happens('call-begun').happens('call-withdrawn');
    expect([early.summary, early.lastResortMs]).toEqual([['half-open', 900], 0]);
  });

  test('waits no longer than before for the next probe, however many end that say nothing', () => {
    const gaps: unknown[] = [];
    const probing = tripped().after(1_000);
    for (let probe = 0; probe < 5; probe++)
      gaps.push(probing.happens('call-begun').summary[1], probing.happens('call-withdrawn').summary[1]);
    expect(gaps).toEqual([1_000, 0, 1_000, 0, 1_000, 0, 1_000, 0, 1_000, 0]);
  });

  test('knows what tripped it', () => {
    const isBusy = [story().isTold(1_000), story().happens('call-failed', 5), tripped()].map(
      ({ breaker }) => breaker.state === 'open' && breaker.isBusy,
    );
    const refused = reduce(
      tripped().after(1_000).happens('call-begun').breaker,
      { type: 'call-failed', epoch: 1, isBusy: true, mayBeTried: true },
      1_000,
      TERMS,
    );
    expect([...isBusy, refused.state === 'open' && refused.isBusy]).toEqual([true, false, false, true]);
  });

  test('does not hear of calls begun before it tripped', () => {
    const probing = tripped().happens('call-succeeded', 1, 0).after(1_000).happens('call-begun');
    const before = probing.breaker;
    expect(probing.happens('call-failed', 9, 0).happens('call-succeeded', 1, 0).happens('unreachable', 1, 0).breaker).toBe(before);
  });
});

describe('for want of another route', () => {
  const tripped = (): Story => story().happens('call-failed', 5);
  const trippedBy = (mayBeTried: boolean): Story => {
    const it = story().happens('call-failed', 4);
    it.breaker = reduce(it.breaker, { type: 'call-failed', epoch: 0, isBusy: false, mayBeTried }, it.now, TERMS);
    return it;
  };

  test('one call may be made after a tenth of the rest, and twice as many each time none of them has failed', () => {
    const trying = tripped();
    const allowed: number[] = [];
    for (let tenth = 0; tenth <= 6; tenth++) {
      let calls = 0;
      for (; trying.lastResortMs === 0; calls++) trying.happens('call-begun');
      allowed.push(calls);
      trying.after(100);
    }
    expect(allowed).toEqual([0, 1, 2, 4, 8, 16, 32]);
  });

  test('the first that fails makes it one again, after a tenth of a longer rest', () => {
    const trying = tripped().after(300).happens('call-begun', 4).happens('call-failed');
    expect([trying.summary, trying.lastResortMs]).toEqual([['open', 2_000], 200]);
  });

  test('the first that succeeds closes it, also when another one has failed meanwhile', () => {
    const trying = tripped().after(300).happens('call-begun', 2);
    const { epoch } = trying.breaker;
    expect(trying.happens('call-failed').happens('call-succeeded', 1, epoch).summary).toEqual(['closed', 0]);
  });

  test('nothing is tried where it would cost a client too much, or the upstream has asked for rest', () => {
    expect([trippedBy(true).lastResortMs, trippedBy(false).lastResortMs, story().isTold(17_000).lastResortMs]).toEqual([
      100, 1_000, 17_000,
    ]);
  });

  test('what was begun before the upstream asked for rest does not end the rest', () => {
    const trying = tripped().after(100).happens('call-begun');
    const { epoch } = trying.breaker;
    expect(trying.isTold(5_000).happens('call-succeeded', 1, epoch).summary).toEqual(['open', 5_000]);
  });
});

test('a new route has all of its weight from the start', () => {
  expect(trafficShare(NEW_BREAKER, 0)).toBe(1);
});

describe('whatever happens', () => {
  const event = fc.oneof(
    fc.record({
      type: fc.constantFrom(...(['call-begun', 'call-succeeded', 'call-failed', 'call-withdrawn', 'unreachable'] as const)),
      isBusy: fc.boolean(),
      mayBeTried: fc.boolean(),
      late: fc.boolean(),
    }),
    fc.record({
      type: fc.constant('told-to-wait' as const),
      isBusy: fc.boolean(),
      late: fc.boolean(),
      forMs: fc.integer({ min: 1, max: 60_000 }),
    }),
  );
  const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), event), { maxLength: 200 });

  testCases(
    'it never rests longer than it may or was told, only a trip or a recovery begins an epoch, and only a success closes it',
    { usual: 300, long: 100_000 },
    steps,
    (list) => {
      let breaker: Breaker = NEW_BREAKER;
      let now = 0;
      for (const [ms, { late, ...step }] of list) {
        now += ms;
        const next = reduce(breaker, { ...step, epoch: breaker.epoch - (late ? 1 : 0) } as BreakerEvent, now, TERMS);
        const restMsMax = step.type === 'told-to-wait' ? step.forMs : next.state === 'half-open' ? 8_000 : TERMS.restMsMax;
        if (next !== breaker) expect(callableAt(next) - now).toBeLessThanOrEqual(restMsMax);
        expect(lastResortAt(next, TERMS)).toBeLessThanOrEqual(callableAt(next));
        const hasChanged = next !== breaker && (next.state === 'open' || (next.state === 'closed' && breaker.state !== 'closed'));
        expect(next.epoch - breaker.epoch).toBe(hasChanged ? 1 : 0);
        if (next.state === 'closed' && breaker.state !== 'closed') expect(step.type).toBe('call-succeeded');
        const isNews = !late || (step.type === 'call-succeeded' && breaker.state !== 'closed' && breaker.epoch > breaker.firstEpoch);
        if (!isNews && step.type !== 'call-begun') expect(next).toBe(breaker);
        expect(trafficShare(next, now)).toBeGreaterThan(0);
        breaker = next;
      }
    },
  );

  testCases(
    'an upstream that is well again is called after at most the longest rest, and closed by one probe',
    { usual: 300, long: 100_000 },
    steps,
    (list) => {
      let breaker: Breaker = NEW_BREAKER;
      let now = 0;
      for (const [ms, { late: _, ...step }] of list) {
        now += ms;
        if (step.type !== 'told-to-wait') breaker = reduce(breaker, { ...step, epoch: breaker.epoch } as BreakerEvent, now, TERMS);
      }
      expect(callableAt(breaker) - now).toBeLessThanOrEqual(breaker.state === 'open' ? TERMS.restMsMax : 8_000);
      now = Math.max(now, callableAt(breaker));
      breaker = reduce(breaker, { type: 'call-begun' }, now, TERMS);
      expect(reduce(breaker, { type: 'call-succeeded', epoch: breaker.epoch }, now, TERMS).state).toBe('closed');
    },
  );
});
