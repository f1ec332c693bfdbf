import type { SettleRequest } from '#contracts/billing/holds.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { type CompletionFailure, isContent, type StreamEvent } from '#inference/stream-event.js';
import type { CallContext } from '#messaging/messaging.js';
import type { LateSettlements } from './leases/late-settlements.js';
import type { LeaseKeeper, LeaseLoss } from './leases/lease-keeper.js';
import type { ModelRoute } from './routing/model-route.js';
import { UpstreamFailure } from './upstream-failure.js';
import { UsageMeter } from './usage-meter.js';

/** The gateway that reads a stream. */
export type Reader = Pick<CallContext, 'signal' | 'callerIsThere'>;

export interface RunDependencies {
  leases: Pick<LeaseKeeper, 'keep'>;
  settlements: Pick<LateSettlements, 'schedule'>;
}

/**
 * What one request has come to: what was returned, what it has used, and whether anybody still wants it. Three things stop
 * it: its reader has left, its hold is no longer ours, or its key was revoked.
 */
export class InferenceRun {
  hasReturnedContent = false;
  hasFinished = false;
  private meter: UsageMeter;
  private route: ModelRoute | undefined;
  private announced = false;
  private collected: StreamEvent[] = [];
  private loss: LeaseLoss | undefined;
  private failed = false;
  private readonly stop = new AbortController();
  private readonly endLease: ReturnType<LeaseKeeper['keep']>;

  constructor(
    readonly job: GenerateRequest,
    private readonly reader: Reader,
    private readonly dependencies: RunDependencies,
  ) {
    this.meter = new UsageMeter(job.ticket);
    // The listener stays after the end: a reader that is lost with the last frame on its way cannot settle either.
    const { signal } = reader;
    if (signal.aborted) this.onReaderLeft();
    else signal.addEventListener('abort', () => this.onReaderLeft(), { once: true });
    this.endLease = dependencies.leases.keep(
      job.ticket,
      () => this.meter.soFar(),
      (loss) => {
        this.loss = loss;
        this.stop.abort(new Error(`lease ${loss}`));
      },
    );
  }

  /** Fires when the upstream call is no longer wanted. */
  get stopSignal(): AbortSignal {
    return this.stop.signal;
  }

  get stopped(): boolean {
    return this.stop.signal.aborted;
  }

  /** A new attempt starts from nothing: what a failed one before it had received was never returned. */
  startAttempt(route: ModelRoute): UsageMeter {
    this.route = route;
    this.collected = [];
    this.meter = new UsageMeter(this.job.ticket);
    return this.meter;
  }

  /** Notes what goes out, and says first which upstream it is from. */
  pass(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (!this.hasReturnedContent) this.hasReturnedContent = events.some(isContent);
    if (events.at(-1)?.type === 'completion-finish') this.hasFinished = true;
    return this.withUpstream(events);
  }

  collect(events: readonly StreamEvent[]): void {
    for (const event of events) this.collected.push(event);
  }

  passCollected(): readonly StreamEvent[] {
    return this.pass(this.collected);
  }

  /** The last batch of a stream that did not come to a good end: what was used, and the failure if there is one. */
  *closing(failure: UpstreamFailure | undefined, retryAfterSeconds?: number): Generator<readonly StreamEvent[]> {
    if (this.hasFinished) return;
    if (this.stopped && this.loss === undefined) {
      yield this.withUpstream([...this.pass(this.collected), { type: 'usage-report', usage: this.meter.soFar() }]);
      return;
    }
    this.failed = true;
    const { code, message } = this.loss ? LOSSES[this.loss] : (failure ?? UNEXPECTED);
    const events: StreamEvent[] = this.hasReturnedContent ? [{ type: 'usage-report', usage: this.meter.soFar() }] : [];
    yield this.withUpstream([...events, { type: 'completion-failure', code, message, retryAfterSeconds }]);
  }

  /** Whether the gateway settles is seen to, also when it has died with the last events in its hands. */
  end(): void {
    const { settlements } = this.dependencies;
    if (this.reader.signal.aborted) this.endLease();
    else this.endLease(settleWith(settlements, this.settlement(), this.reader));
    if (!this.hasFinished) this.stop.abort(new Error('given up'));
  }

  private withUpstream(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (this.announced || this.route === undefined || events.length === 0) return events;
    this.announced = true;
    return [{ type: 'upstream-start', upstream: this.route.link.upstream.id }, ...events];
  }

  private onReaderLeft(): void {
    this.stop.abort(new Error('reader left'));
    this.dependencies.settlements.schedule(() => this.settlement(), this.reader);
  }

  /** How the gateway would settle this, were it there. */
  private settlement(): SettleRequest {
    const { holdId, accountId } = this.job.ticket;
    const reason = this.hasFinished ? 'completed' : this.failed ? 'failed' : 'client-left';
    const billed = this.hasFinished ? this.meter.final() : this.failed && !this.hasReturnedContent ? undefined : this.meter.soFar();
    return { holdId, accountId, reason, usage: billed, upstream: this.route?.link.upstream.id };
  }
}

/** Apart, so that what is remembered is the settlement and not the whole request. */
function settleWith(settlements: RunDependencies['settlements'], settlement: SettleRequest, reader: Reader): () => void {
  return () => settlements.schedule(() => settlement, reader, 0);
}

const LOSSES: Record<LeaseLoss, Omit<CompletionFailure, 'type'>> = {
  // Billing could not be reached for most of a lease, or has ended the hold meanwhile.
  lost: { code: 'model_unavailable', message: 'Billing is temporarily unavailable. Try again.' },
  revoked: { code: 'invalid_api_key', message: 'The API key is not valid or has been revoked.' },
};

const UNEXPECTED: Omit<CompletionFailure, 'type'> = { code: 'internal_error', message: 'An unexpected error occurred.' };
