import type { SettleRequest } from '#contracts/billing/holds.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { appendEvent, type CompletionFailure, isContent, type StreamEvent } from '#inference/stream-event.js';
import type { CallContext } from '#messaging/messaging.js';
import type { LateSettlements } from './leases/late-settlements.js';
import type { LeaseKeeper, LeaseLoss } from './leases/lease-keeper.js';
import type { RouteCall } from './routing/route-call.js';
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
  /** The one under way. */
  private call: RouteCall | undefined;
  /** Where what was received is from. */
  private upstream: string | undefined;
  private failedUpstream: string | undefined;
  private announced = false;
  private collected: StreamEvent[] = [];
  private loss: LeaseLoss | undefined;
  private failed = false;
  private readonly stop = new AbortController();
  private readonly standIn: StandIn;
  private readonly endLease: ReturnType<LeaseKeeper['keep']>;

  constructor(
    readonly job: GenerateRequest,
    reader: Reader,
    dependencies: RunDependencies,
  ) {
    this.meter = new UsageMeter(job.ticket);
    this.standIn = new StandIn(dependencies.settlements, reader, {
      settlement: () => this.settlement(),
      readerLeft: () => this.halt('reader left'),
    });
    this.endLease = dependencies.leases.keep(
      job.ticket,
      () => this.meter.soFar(),
      (loss) => {
        this.loss = loss;
        this.halt(`lease ${loss}`);
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

  startAttempt(call: RouteCall): UsageMeter {
    this.call = call;
    this.upstream = call.link.upstream.id;
    return this.meter;
  }

  /**
   * Gives the route back, once, as soon as the reply is whole or has failed, or nobody wants it any more: whoever reads slowly keeps
   * nobody from it. What a call had received that failed before any of it was returned is owed by nobody, and is forgotten here.
   */
  endCall(failure?: UpstreamFailure): void {
    const { call, meter } = this;
    if (call === undefined) return;
    this.call = undefined;
    call.end({
      outcome: failure?.code ?? (this.hasFinished ? 'completed' : 'cancelled'),
      failure,
      usage: meter.hasContent ? meter.soFar() : undefined,
    });
    if (failure === undefined || this.hasReturnedContent) return;
    this.meter = new UsageMeter(this.job.ticket);
    this.collected = [];
    this.failedUpstream = this.upstream;
    this.upstream = undefined;
  }

  /** Notes what goes out, and says first which upstream it is from. */
  pass(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (!this.hasReturnedContent) this.hasReturnedContent = events.some(isContent);
    if (events.at(-1)?.type === 'completion-finish') this.hasFinished = true;
    return this.withUpstream(events);
  }

  collect(events: readonly StreamEvent[]): void {
    for (const event of events) appendEvent(this.collected, event);
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
    if (this.loss === undefined) this.upstream ??= this.failedUpstream;
    const { code, message } = this.loss ? LOSSES[this.loss] : (failure ?? UNEXPECTED);
    const events: StreamEvent[] = this.hasReturnedContent ? [{ type: 'usage-report', usage: this.meter.soFar() }] : [];
    yield this.withUpstream([...events, { type: 'completion-failure', code, message, retryAfterSeconds }]);
  }

  /** Whether the gateway settles is seen to, also when it has died with the last events in its hands. */
  end(): void {
    this.endCall();
    this.endLease(this.standIn.end(this.settlement()));
    if (!this.hasFinished) this.halt('given up');
  }

  private halt(why: string): void {
    this.stop.abort(new Error(why));
    this.endCall();
  }

  private withUpstream(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (this.announced || this.upstream === undefined || events.length === 0) return events;
    this.announced = true;
    return [{ type: 'upstream-start', upstream: this.upstream }, ...events];
  }

  /** How the gateway would settle this, were it there. */
  private settlement(): SettleRequest {
    const { holdId, accountId } = this.job.ticket;
    const reason = this.hasFinished ? 'completed' : this.failed ? 'failed' : 'client-left';
    const billed = this.hasFinished ? this.meter.final() : this.failed && !this.hasReturnedContent ? undefined : this.meter.soFar();
    return { holdId, accountId, reason, usage: billed, upstream: this.upstream };
  }
}

/** A request, as far as it is to be settled. */
interface Unsettled {
  settlement(): SettleRequest;
  readerLeft(): void;
}

/**
 * Settles for a gateway that has gone, which may take long after the end of its request. So it is apart from the run, and knows of
 * one that has ended what it owes and nothing else: a request may be 8 MB.
 */
class StandIn {
  constructor(
    private readonly settlements: RunDependencies['settlements'],
    private readonly reader: Reader,
    private run: Unsettled,
  ) {
    // The listener stays after the end: a reader that is lost with the last frame on its way cannot settle either.
    if (reader.signal.aborted) this.onReaderLeft();
    else reader.signal.addEventListener('abort', () => this.onReaderLeft(), { once: true });
  }

  /** The run is over, and comes to this. Returns what is to be done when nobody has settled it a while later, unless it is seen to. */
  end(settlement: SettleRequest): (() => void) | undefined {
    this.run = { settlement: () => settlement, readerLeft: () => undefined };
    return this.reader.signal.aborted ? undefined : () => this.schedule(0);
  }

  private onReaderLeft(): void {
    this.run.readerLeft();
    this.schedule();
  }

  private schedule(delayMs?: number): void {
    this.settlements.schedule(() => this.run.settlement(), this.reader, delayMs);
  }
}

const LOSSES: Record<LeaseLoss, Omit<CompletionFailure, 'type'>> = {
  // Billing could not be reached for most of a lease, or has ended the hold meanwhile.
  lost: { code: 'model_unavailable', message: 'Billing is temporarily unavailable. Try again.' },
  revoked: { code: 'invalid_api_key', message: 'The API key is not valid or has been revoked.' },
};

const UNEXPECTED: Omit<CompletionFailure, 'type'> = { code: 'internal_error', message: 'An unexpected error occurred.' };
