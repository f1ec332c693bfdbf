/**
 * The circuit breaker of a route, as a value: `reduce` gives the next one, and nothing here knows a clock or a timer.
 * Times are milliseconds of one clock. Why none of the libraries: docs/decisions, "A breaker of our own".
 *
 * `epoch` counts the trips and the recoveries. A call carries the epoch it was begun in, and its failure counts in no other: what a
 * dead upstream still owes, probes included, says nothing about the one that has come back.
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

export interface OpenBreaker extends Illness {
  state: 'open';
}

export interface HalfOpenBreaker extends Illness {
  state: 'half-open';
  /** Begun, and none has said anything yet. */
  probes: number;
  /** A probe that says nothing holds up no other for longer than that. */
  nextProbeAt: number;
}

/** From the first trip to the next success. */
interface Illness {
  epoch: number;
  trips: number;
  since: number;
  trippedAt: number;
  /** It has rested then: from then on one call may try. */
  until: number;
  /** Calls of this epoch and later ones were begun while it was ill: what they show is news. */
  firstEpoch: number;
  /** What tripped it was an upstream without room, not one that failed. */
  isBusy: boolean;
  /** Where there is no other route, it may be called although it rests. */
  mayBeTried: boolean;
}

/** What a trip says of the rest after it. */
export type TripTerms = Pick<Illness, 'isBusy' | 'mayBeTried'>;

interface Bucket {
  startedAt: number;
  calls: number;
  failures: number;
}

export interface BreakerOptions {
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
  | ({ type: 'call-failed'; epoch: number } & TripTerms)
  /** A call ended that says nothing of the upstream: a probe gives its place back. */
  | { type: 'call-withdrawn'; epoch: number }
  /** No connection could be made: no other call would fare better. */
  | ({ type: 'unreachable'; epoch: number } & TripTerms)
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
/** Of a rest, the part after which a route is tried that is the only one left; and so often again, each time with twice as many. */
const LAST_RESORT_SHARE = 0.1;
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
export function reduce(breaker: Breaker, event: BreakerEvent, now: number, terms: BreakerOptions): Breaker {
  if (event.type === 'call-begun') return begun(breaker, now, terms);
  if (event.type === 'call-succeeded') return succeeded(breaker, event.epoch, now);
  if (event.epoch !== breaker.epoch) return breaker;
  switch (event.type) {
    case 'call-failed':
      return failed(breaker, now, terms, event);
    case 'call-withdrawn':
      return withdrawn(breaker);
    case 'unreachable':
      return breaker.state === 'open' ? breaker : trip(breaker, now, terms, event);
    case 'told-to-wait':
      return toldToWait(breaker, now, Math.min(event.forMs, terms.waitMsMax), event.isBusy);
  }
}

/** When the next call may be made: now or earlier, if it may be made now. */
export function callableAt(breaker: Breaker): number {
  if (breaker.state === 'closed') return Number.NEGATIVE_INFINITY;
  return breaker.state === 'open' ? breaker.until : breaker.nextProbeAt;
}

/**
 * When a call may be made for want of another route: to refuse everybody would make an outage of what may be over, or be the
 * fault of a few requests. First one call, and as long as none of them fails twice as many each time. An upstream that keeps its
 * callers waiting before it fails, that has asked to be left alone, or that refuses us, is not called before `callableAt`.
 */
export function lastResortAt(breaker: Breaker, terms: BreakerOptions): number {
  if (breaker.state === 'closed' || !breaker.mayBeTried) return callableAt(breaker);
  const unanswered = breaker.state === 'open' ? 0 : breaker.probes;
  const gapMs = restMs(breaker.trips, terms) * LAST_RESORT_SHARE;
  return Math.min(callableAt(breaker), breaker.trippedAt + gapMs * Math.log2(unanswered + 2));
}

/** The share of its weight that a route gets: little at first after a recovery, so that nobody is run down. In (0, 1]. */
export function trafficShare(breaker: Breaker, now: number): number {
  if (breaker.state !== 'closed') return RAMP_SHARE_MIN;
  const closedMs = now - breaker.since;
  return closedMs >= RAMP_MS ? 1 : Math.max(RAMP_SHARE_MIN, closedMs / RAMP_MS);
}

function begun(breaker: Breaker, now: number, terms: BreakerOptions): Breaker {
  if (breaker.state === 'closed') return breaker;
  const probes = breaker.state === 'half-open' ? breaker.probes + 1 : 1;
  const gapMs = Math.min(PROBE_GAP_MS_MAX, restMs(breaker.trips, terms) * 2 ** Math.min(probes - 1, 20));
  return { ...illnessOf(breaker), state: 'half-open', probes, nextProbeAt: now + gapMs };
}

/** Of several probes one may fail while another one's answer is on its way: the answer counts. */
function succeeded(breaker: Breaker, epoch: number, now: number): Breaker {
  if (breaker.state === 'closed') return epoch === breaker.epoch ? counted(breaker, now, 0) : breaker;
  if (epoch < breaker.firstEpoch || epoch > breaker.epoch) return breaker;
  return { ...NEW_BREAKER, epoch: breaker.epoch + 1, since: now, trips: breaker.trips };
}

function withdrawn(breaker: Breaker): Breaker {
  if (breaker.state !== 'half-open') return breaker;
  const { probes, nextProbeAt, until } = breaker;
  return { ...breaker, probes: Math.max(0, probes - 1), nextProbeAt: Math.min(nextProbeAt, until) };
}

function failed(breaker: Breaker, now: number, terms: BreakerOptions, why: TripTerms): Breaker {
  if (breaker.state === 'open') return breaker;
  if (breaker.state === 'half-open') return trip(breaker, now, terms, why);
  const next = counted(breaker, now, 1);
  const failures = next.current.failures + next.previous.failures;
  const calls = next.current.calls + next.previous.calls;
  const isTooMuch = next.streak >= STREAK_MAX || (failures >= FAILURES_MIN && failures >= calls * FAILURE_SHARE);
  return isTooMuch ? trip(breaker, now, terms, why) : next;
}

function trip(breaker: Breaker, now: number, terms: BreakerOptions, { isBusy, mayBeTried }: TripTerms): OpenBreaker {
  const isForgotten = breaker.state === 'closed' && now - breaker.since >= FORGET_MS;
  const trips = (isForgotten ? 0 : breaker.trips) + 1;
  const epoch = breaker.epoch + 1;
  const { since, firstEpoch } = breaker.state === 'closed' ? { since: now, firstEpoch: epoch } : breaker;
  return { state: 'open', epoch, trips, since, trippedAt: now, firstEpoch, isBusy, mayBeTried, until: now + restMs(trips, terms) };
}

function toldToWait(breaker: Breaker, now: number, forMs: number, isBusy: boolean): OpenBreaker {
  const epoch = breaker.epoch + 1;
  const since = breaker.state === 'closed' ? now : breaker.since;
  const { trips } = breaker;
  return { state: 'open', epoch, trips, since, trippedAt: now, firstEpoch: epoch, isBusy, mayBeTried: false, until: now + forMs };
}

function illnessOf({ epoch, trips, since, trippedAt, until, firstEpoch, isBusy, mayBeTried }: Illness): Illness {
  return { epoch, trips, since, trippedAt, until, firstEpoch, isBusy, mayBeTried };
}

function restMs(trips: number, { restMs, restMsMax }: BreakerOptions): number {
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
