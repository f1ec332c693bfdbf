/**
 * The circuit breaker of a route, as a value: `reduce` gives the next one, and nothing here knows a clock or a timer.
 * Times are milliseconds of one clock. Why none of the libraries: docs/decisions, "A breaker of our own".
 *
 * `epoch` counts the trips. A call carries the epoch it was begun in, and what it comes to counts in no other: the failures
 * that a dead upstream still owes say nothing about the one that has come back.
 */
export type Breaker = ClosedBreaker | OpenBreaker | HalfOpenBreaker;

export interface ClosedBreaker {
  state: 'closed';
  epoch: number;
  /** Since when calls go through; -Infinity when they always did. */
  since: number;
  /** Trips that led here and are not forgotten yet: the next one rests longer. */
  trips: number;
  /** Failures with no success between them. */
  streak: number;
  current: Bucket;
  previous: Bucket;
}

export interface OpenBreaker {
  state: 'open';
  epoch: number;
  trips: number;
  /** From then on one call may try. */
  until: number;
  /** What tripped it was an upstream without room, not one that failed. */
  isBusy: boolean;
}

export interface HalfOpenBreaker {
  state: 'half-open';
  epoch: number;
  trips: number;
  /** Begun, and none has said anything yet. */
  probes: number;
  /** A probe that says nothing holds up no other for longer than that. */
  nextProbeAt: number;
  isBusy: boolean;
}

interface Bucket {
  startedAt: number;
  calls: number;
  failures: number;
}

export interface BreakerTerms {
  /** The first rest after a trip; each further one is twice as long, up to `restMsMax`. */
  restMs: number;
  restMsMax: number;
  /** The longest an upstream is believed that asks to be left alone. */
  waitMsMax: number;
}

export type BreakerEvent =
  /** A call was begun: in an open breaker, the probe. */
  | { type: 'call-begun' }
  /** The first content came, or a reply that shows the upstream to be well. */
  | { type: 'call-succeeded'; epoch: number }
  | { type: 'call-failed'; epoch: number; isBusy: boolean }
  /** No connection could be made: no other call would fare better. */
  | { type: 'unreachable'; epoch: number }
  /** The upstream named a time before which it wants no call. */
  | { type: 'told-to-wait'; epoch: number; isBusy: boolean; forMs: number };

/** Failures in a row that trip it, however long they took to come. */
const STREAK_MAX = 5;
/** Or so many within the window, if they are at least half of its calls. */
const FAILURES_MIN = 5;
const FAILURE_SHARE = 0.5;
const BUCKET_MS = 5_000;
/** Between probes that are not answered: each of them is a request that waits in vain, as long as its timeout is. */
const PROBE_GAP_MS_MAX = 8_000;
/** Trips are forgotten once it was closed for so long. */
const FORGET_MS = 10_000;
/** Traffic comes back in proportion, from a tenth to all of it in this time. */
const RAMP_MS = 4_000;
const RAMP_SHARE_MIN = 0.1;

const EMPTY: Bucket = { startedAt: Number.NEGATIVE_INFINITY, calls: 0, failures: 0 };

export const NEW_BREAKER: ClosedBreaker = {
  state: 'closed',
  epoch: 0,
  since: Number.NEGATIVE_INFINITY,
  trips: 0,
  streak: 0,
  current: EMPTY,
  previous: EMPTY,
};

/** What has become of the breaker. The same object when nothing has. */
export function reduce(breaker: Breaker, event: BreakerEvent, now: number, terms: BreakerTerms): Breaker {
  if (event.type === 'call-begun') return begun(breaker, now, terms);
  if (event.epoch !== breaker.epoch) return breaker;
  switch (event.type) {
    case 'call-succeeded':
      return succeeded(breaker, now);
    case 'call-failed':
      return failed(breaker, now, terms, event.isBusy);
    case 'unreachable':
      return breaker.state === 'open' ? breaker : trip(breaker, now, terms, false);
    case 'told-to-wait':
      return {
        state: 'open',
        epoch: breaker.epoch + 1,
        trips: breaker.trips,
        until: now + Math.min(event.forMs, terms.waitMsMax),
        isBusy: event.isBusy,
      };
  }
}

/** When the next call may be made: now or earlier, if it may be made now. */
export function callableAt(breaker: Breaker): number {
  if (breaker.state === 'closed') return Number.NEGATIVE_INFINITY;
  return breaker.state === 'open' ? breaker.until : breaker.nextProbeAt;
}

/** The share of its weight that a route gets: little at first after a recovery, so that nobody is run down. In (0, 1]. */
export function trafficShare(breaker: Breaker, now: number): number {
  if (breaker.state !== 'closed') return RAMP_SHARE_MIN;
  const closedMs = now - breaker.since;
  return closedMs >= RAMP_MS ? 1 : Math.max(RAMP_SHARE_MIN, closedMs / RAMP_MS);
}

function begun(breaker: Breaker, now: number, terms: BreakerTerms): Breaker {
  if (breaker.state === 'closed') return breaker;
  const { epoch, trips, isBusy } = breaker;
  const probes = breaker.state === 'half-open' ? breaker.probes + 1 : 1;
  const gapMs = Math.min(PROBE_GAP_MS_MAX, restMs(trips, terms) * 2 ** Math.min(probes - 1, 20));
  return { state: 'half-open', epoch, trips, isBusy, probes, nextProbeAt: now + gapMs };
}

function succeeded(breaker: Breaker, now: number): Breaker {
  if (breaker.state !== 'closed') return { ...NEW_BREAKER, epoch: breaker.epoch, since: now, trips: breaker.trips };
  return counted(breaker, now, 0);
}

function failed(breaker: Breaker, now: number, terms: BreakerTerms, isBusy: boolean): Breaker {
  if (breaker.state === 'open') return breaker;
  if (breaker.state === 'half-open') return trip(breaker, now, terms, isBusy);
  const next = counted(breaker, now, 1);
  const failures = next.current.failures + next.previous.failures;
  const calls = next.current.calls + next.previous.calls;
  const isTooMuch = next.streak >= STREAK_MAX || (failures >= FAILURES_MIN && failures >= calls * FAILURE_SHARE);
  return isTooMuch ? trip(breaker, now, terms, isBusy) : next;
}

function trip(breaker: Breaker, now: number, terms: BreakerTerms, isBusy: boolean): OpenBreaker {
  const isForgotten = breaker.state === 'closed' && now - breaker.since >= FORGET_MS;
  const trips = (isForgotten ? 0 : breaker.trips) + 1;
  return { state: 'open', epoch: breaker.epoch + 1, trips, until: now + restMs(trips, terms), isBusy };
}

function restMs(trips: number, { restMs, restMsMax }: BreakerTerms): number {
  return Math.min(restMsMax, restMs * 2 ** Math.min(Math.max(0, trips - 1), 20));
}

/** One more call in a window of two buckets: between one and two `BUCKET_MS` long. Spelled out, because every call comes by here. */
function counted(breaker: ClosedBreaker, now: number, failures: 0 | 1): ClosedBreaker {
  const { epoch, since, trips, current } = breaker;
  const streak = failures === 0 ? 0 : breaker.streak + 1;
  const ageMs = now - current.startedAt;
  if (ageMs < BUCKET_MS) {
    const more = { startedAt: current.startedAt, calls: current.calls + 1, failures: current.failures + failures };
    return { state: 'closed', epoch, since, trips, streak, current: more, previous: breaker.previous };
  }
  const previous = ageMs < 2 * BUCKET_MS ? current : EMPTY;
  return { state: 'closed', epoch, since, trips, streak, current: { startedAt: now, calls: 1, failures }, previous };
}
