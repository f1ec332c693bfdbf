import type { Usage } from '#inference/usage.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import type { CallOutcome, RouteMetrics } from '../metrics/route-metrics.js';
import type { RouteState } from './route-state.js';
import type { UpstreamClient } from './upstream-client.js';

/** One call on a route. */
export class RouteCall {
  firstContentAt: number | undefined;

  constructor(
    readonly route: RouteState,
    /** How the upstream is reached, from the beginning of the call to its end. */
    readonly client: UpstreamClient,
    readonly metrics: RouteMetrics,
    readonly accountId: string,
    readonly startedAt: number,
    readonly isStream: boolean,
  ) {}

  /** The model's name at the upstream. */
  get model(): string {
    return this.route.definition.model;
  }

  /** Call on every content event; only the first is recorded. */
  contentCame(): void {
    if (this.firstContentAt !== undefined) return;
    this.firstContentAt = performance.now();
    this.route.contentCame(this, this.firstContentAt);
  }

  /** Gives the route back. Call exactly once. */
  end(end: CallEnd): void {
    this.route.ended(this, end, performance.now());
  }
}

export interface CallEnd {
  outcome: CallOutcome;
  failure: UpstreamFailure | undefined;
  /** Undefined when no content was returned. */
  usage: Usage | undefined;
}
