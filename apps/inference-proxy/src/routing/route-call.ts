import type { Usage } from '#inference/usage.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import type { CallOutcome, RouteMetrics } from '../metrics/route-metrics.js';
import type { UpstreamReply } from '../transport/post-stream.js';
import type { RouteState } from './route-state.js';
import type { UpstreamClient } from './upstream-client.js';

/** One call of a route, from `begin` to `end`. */
export class RouteCall {
  firstContentAt: number | undefined;

  constructor(
    readonly route: RouteState,
    /** Where it goes and by which terms, to its end. */
    readonly client: UpstreamClient,
    readonly metrics: RouteMetrics,
    /** The account that pays for it. */
    readonly accountId: string,
    /** Of the breaker, when it began. */
    readonly epoch: number,
    readonly startedAt: number,
    readonly isStream: boolean,
  ) {}

  /** The model's name at the upstream. */
  get model(): string {
    return this.route.model;
  }

  /** To be told with each content; the first counts. */
  contentCame(): void {
    if (this.firstContentAt !== undefined) return;
    this.firstContentAt = performance.now();
    this.route.contentCame(this, this.firstContentAt);
  }

  /** As `CallTarget` has it. */
  lingers(reply: Pick<UpstreamReply, 'setDeadline'>, isOver: Promise<void>): void {
    this.route.upstream.lingers(reply, isOver);
  }

  /** Gives the route back. Exactly once. */
  end(end: CallEnd): void {
    this.route.ended(this, end, performance.now());
  }
}

/** How a call came to its end. */
export interface CallEnd {
  outcome: CallOutcome;
  failure: UpstreamFailure | undefined;
  /** Of calls that returned content. */
  usage: Usage | undefined;
}
