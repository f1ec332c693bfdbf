/**
 * The circuit breaker of a route, as a value without clock or timer. Closed: calls go through. Open: no calls until the cooldown has
 * ended. Half-open: the probe, one call that shows whether the upstream is healthy again, is in flight. Times are milliseconds of one clock.
 */
export type Breaker = ClosedBreaker | OpenBreaker;

interface ClosedBreaker {
  state: 'closed';
  /** Time at which the circuit closed. */
  since: number;
  /** Failures without a success between them. */
  failures: number;
}

interface OpenBreaker {
  state: 'open' | 'half-open';
  /** Time at which the circuit opened. */
  since: number;
  probeAt: number;
  /** The last failure was a timeout: another call would make its client wait in vain. */
  isSlow: boolean;
}

export interface BreakerOptions {
  /** Milliseconds from a failure that opens the circuit to the probe. */
  cooldownMs: number;
  /** Milliseconds without content after which a further probe may start. */
  slowStartMs: number;
}

/** Failures in a row that open the circuit. */
const FAILURES_MAX = 5;

export const NEW_BREAKER: Breaker = { state: 'closed', since: Number.NEGATIVE_INFINITY, failures: 0 };

/** Milliseconds until a call may go through; 0 when it may now. */
export function remainingCooldownMs(breaker: Breaker, now: number): number {
  return breaker.state === 'closed' ? 0 : Math.max(0, breaker.probeAt - now);
}

/** Call when a call starts. It becomes the probe if one is due. */
export function callStarted(breaker: Breaker, now: number, { slowStartMs }: BreakerOptions): Breaker {
  if (breaker.state === 'closed' || now < breaker.probeAt) return breaker;
  return { ...breaker, state: 'half-open', probeAt: now + slowStartMs };
}

/** Call when a call has brought content, or another reply that shows the upstream to be healthy. */
export function callSucceeded(breaker: Breaker, now: number): Breaker {
  if (breaker.state !== 'closed') return { state: 'closed', since: now, failures: 0 };
  return breaker.failures === 0 ? breaker : { ...breaker, failures: 0 };
}

/** Call when a call has failed in a way that the upstream is to blame for. */
export function callFailed(breaker: Breaker, isTimeout: boolean, now: number, { cooldownMs }: BreakerOptions): Breaker {
  if (breaker.state === 'open') return breaker;
  if (breaker.state === 'closed' && breaker.failures + 1 < FAILURES_MAX) return { ...breaker, failures: breaker.failures + 1 };
  const since = breaker.state === 'closed' ? now : breaker.since;
  return { state: 'open', since, probeAt: now + cooldownMs, isSlow: isTimeout };
}

/** Call when a call has ended without showing anything about the upstream. In the half-open state the next call may probe at once. */
export function callInconclusive(breaker: Breaker, now: number): Breaker {
  return breaker.state === 'half-open' ? { ...breaker, probeAt: now } : breaker;
}
