/**
 * The circuit breaker of a route, as a value without clock or timer. Closed: calls go through. Open: no calls until the cooldown has
 * ended. Half-open: one call, the probe, shows whether the upstream is healthy again. Times are milliseconds of one clock.
 */
export type Breaker = ClosedBreaker | OpenBreaker;

interface ClosedBreaker {
  state: 'closed';
  /** When the circuit closed. */
  since: number;
  /** Failures without a success between them. */
  failures: number;
}

interface OpenBreaker {
  state: 'open' | 'half-open';
  /** When the circuit opened. */
  since: number;
  probeAt: number;
  /** The last failure was a timeout: another call would make its client wait in vain. */
  isSlow: boolean;
}

export interface BreakerOptions {
  /** Milliseconds from a failure that opens the circuit to the probe. */
  cooldownMs: number;
  /** Milliseconds without content after which a probe no longer holds up the next one. */
  slowStartMs: number;
}

/** Failures in a row that open the circuit. */
const FAILURES_MAX = 5;

export const NEW_BREAKER: Breaker = { state: 'closed', since: Number.NEGATIVE_INFINITY, failures: 0 };

/** Milliseconds until a call may go through; 0 when it may now. */
export function cooldownMs(breaker: Breaker, now: number): number {
  return breaker.state === 'closed' ? 0 : Math.max(0, breaker.probeAt - now);
}

/** A call begins. It is the probe if one is due. */
export function begun(breaker: Breaker, now: number, { slowStartMs }: BreakerOptions): Breaker {
  if (breaker.state === 'closed' || now < breaker.probeAt) return breaker;
  return { ...breaker, state: 'half-open', probeAt: now + slowStartMs };
}

/** A call has brought content, or another reply that shows the upstream to be healthy. */
export function succeeded(breaker: Breaker, now: number): Breaker {
  if (breaker.state !== 'closed') return { state: 'closed', since: now, failures: 0 };
  return breaker.failures === 0 ? breaker : { ...breaker, failures: 0 };
}

export function failed(breaker: Breaker, isTimeout: boolean, now: number, { cooldownMs }: BreakerOptions): Breaker {
  if (breaker.state === 'open') return breaker;
  if (breaker.state === 'closed' && breaker.failures + 1 < FAILURES_MAX) return { ...breaker, failures: breaker.failures + 1 };
  const since = breaker.state === 'closed' ? now : breaker.since;
  return { state: 'open', since, probeAt: now + cooldownMs, isSlow: isTimeout };
}

/** A call has ended that says nothing about the upstream. If it was the probe, the next call is. */
export function withdrawn(breaker: Breaker, now: number): Breaker {
  return breaker.state === 'half-open' ? { ...breaker, probeAt: now } : breaker;
}
