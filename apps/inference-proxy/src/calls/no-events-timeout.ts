import { UpstreamFailure } from '../failures/upstream-failure.js';

/** Limits how long an upstream may send bytes that yield no event. Any byte resets `idleMs`, but not this timeout. */
export class NoEventsTimeout {
  /** When the first read without an event ended. */
  private since: number | undefined;

  constructor(private readonly msMax: number) {}

  extend(): void {
    this.since = undefined;
  }

  /** Call after each read without an event. Throws `UpstreamFailure` when there was none for too long. */
  check(): void {
    const now = performance.now();
    this.since ??= now;
    if (now - this.since > this.msMax) throw new UpstreamFailure('timeout', 'upstream_timeout', { detail: 'no events within totalMs' });
  }
}
