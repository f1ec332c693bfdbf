import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { type Breaker, callFailed, callInconclusive, callStarted, callSucceeded, NEW_BREAKER, remainingCooldownMs } from './breaker.js';

const OPTIONS = { cooldownMs: 3_000, slowStartMs: 10_000 };

/** A breaker and its clock. */
class Story {
  breaker: Breaker = NEW_BREAKER;
  now = 0;

  after(ms: number): this {
    this.now += ms;
    return this;
  }

  happens(event: 'started' | 'succeeded' | 'failed' | 'timed out' | 'inconclusive', times = 1): this {
    for (let time = 0; time < times; time++) this.breaker = next(this.breaker, event, this.now);
    return this;
  }

  get summary() {
    return [this.breaker.state, remainingCooldownMs(this.breaker, this.now)];
  }
}

type Event = Parameters<Story['happens']>[0];

function next(breaker: Breaker, event: Event, now: number): Breaker {
  if (event === 'started') return callStarted(breaker, now, OPTIONS);
  if (event === 'succeeded') return callSucceeded(breaker, now);
  return event === 'inconclusive' ? callInconclusive(breaker, now) : callFailed(breaker, event === 'timed out', now, OPTIONS);
}

const story = (): Story => new Story();
const opened = (): Story => story().happens('failed', 5);

test('five failures in a row open the circuit, however slowly they come', () => {
  const slow = story();
  for (let call = 0; call < 4; call++) slow.after(60_000).happens('failed');
  expect(slow.summary).toEqual(['closed', 0]);
  expect(slow.happens('failed').summary).toEqual(['open', 3_000]);
  expect(story().happens('failed', 4).happens('succeeded').happens('failed', 4).summary).toEqual(['closed', 0]);
});

test('after the cooldown one call is the probe, and its success closes the circuit', () => {
  const probing = opened().after(3_000);
  expect(probing.summary).toEqual(['open', 0]);
  expect(probing.happens('started').summary).toEqual(['half-open', 10_000]);
  expect(probing.after(50).happens('succeeded').summary).toEqual(['closed', 0]);
});

test('a call in panic mode, before the cooldown has ended, is no probe, and its success closes the circuit too', () => {
  const panicking = opened().after(1_000).happens('started');
  expect(panicking.summary).toEqual(['open', 2_000]);
  expect(panicking.happens('failed').summary).toEqual(['open', 2_000]);
  expect(panicking.happens('succeeded').summary).toEqual(['closed', 0]);
});

test('a probe that fails opens the circuit for another cooldown', () => {
  expect(opened().after(3_000).happens('started').after(100).happens('failed').summary).toEqual(['open', 3_000]);
});

test('a probe that brings nothing holds up the next one only until slowStartMs', () => {
  const probing = opened().after(3_000).happens('started').after(10_000);
  expect(probing.summary).toEqual(['half-open', 0]);
  expect(probing.happens('started').summary).toEqual(['half-open', 10_000]);
});

test('a probe that says nothing about the upstream gives its place to the next call', () => {
  expect(opened().after(3_000).happens('started').after(50).happens('inconclusive').summary).toEqual(['half-open', 0]);
});

test('a circuit is slow when the last failure was a timeout', () => {
  const isSlow = ({ breaker }: Story): boolean => breaker.state !== 'closed' && breaker.isSlow;
  expect(isSlow(story().happens('failed', 4).happens('timed out'))).toBe(true);
  expect(isSlow(story().happens('timed out', 4).happens('failed'))).toBe(false);
  expect(isSlow(opened().after(3_000).happens('started').happens('timed out').after(3_000).happens('started'))).toBe(true);
});

testCases(
  'whatever happens, only a success closes the circuit, and a healthy upstream is found within slowStartMs by one call',
  { usual: 300, long: 100_000 },
  fc.array(
    fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.constantFrom<Event>('started', 'succeeded', 'failed', 'timed out', 'inconclusive')),
    {
      maxLength: 200,
    },
  ),
  (steps) => {
    let breaker: Breaker = NEW_BREAKER;
    let now = 0;
    for (const [ms, event] of steps) {
      now += ms;
      const { state } = breaker;
      breaker = next(breaker, event, now);
      if (breaker.state === 'closed' && state !== 'closed') expect(event).toBe('succeeded');
      expect(remainingCooldownMs(breaker, now)).toBeLessThanOrEqual(OPTIONS.slowStartMs);
    }
    now += remainingCooldownMs(breaker, now);
    expect(next(next(breaker, 'started', now), 'succeeded', now).state).toBe('closed');
  },
);
