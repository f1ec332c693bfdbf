import type { Attempt } from '#inference/attempt.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import type { RouteCall } from '../routing/route-state.js';

/** Collects the calls of a request for the gateway, if the ticket asks for them. */
export class AttemptReport {
  private readonly startedAt = performance.now();
  /** Calls that have ended: at most `attemptsMax`, and one on a stale connection. */
  private readonly ended: Attempt[] = [];

  constructor(private readonly isWanted: boolean | undefined) {}

  /** Records a call that has just ended. */
  record(call: RouteCall, failure: UpstreamFailure | undefined): void {
    if (this.isWanted) this.ended.push(this.toAttempt(call, performance.now(), failure));
  }

  /** Returns the last batch of the stream with the report before its last event. `running`: the call in progress. */
  addTo(events: readonly StreamEvent[], running: RouteCall | undefined): readonly StreamEvent[] {
    if (!this.isWanted) return events;
    const attempts = running === undefined ? this.ended : [...this.ended, this.toAttempt(running)];
    return [...events.slice(0, -1), { type: 'attempts-report', attempts }, ...events.slice(-1)];
  }

  private toAttempt(call: RouteCall, endedAt?: number, failure?: UpstreamFailure): Attempt {
    const after = (at: number): number => Math.max(0, Math.round(at - this.startedAt));
    return {
      upstream: call.client.upstream.id,
      startMs: after(call.startedAt),
      ...(call.answeredAt !== undefined && { firstByteMs: after(call.answeredAt) }),
      ...(endedAt !== undefined && { endMs: after(endedAt) }),
      ...(failure !== undefined && describeFailure(failure)),
    };
  }
}

function describeFailure({ kind, refusal, detail }: UpstreamFailure): Pick<Attempt, 'failure' | 'status' | 'reason'> {
  return { failure: kind, ...(refusal?.status !== undefined && { status: refusal.status }), ...(detail !== kind && { reason: detail }) };
}
