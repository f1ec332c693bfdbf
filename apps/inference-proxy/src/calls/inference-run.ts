import type { SettleRequest } from '#contracts/billing/holds.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { type ReadOnLimits, readOnLimits } from '#contracts/upstream-defaults.js';
import { appendEvent, type CompletionFailure, isContent, type StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { type CallContext, DETACHED } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { logFailure } from '../failures/log-failure.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { LeaseKeeper, LeaseLoss } from '../leases/lease-keeper.js';
import type { LateSettlements } from '../leases/settle-for-gateway.js';
import type { RouteCall } from '../routing/route-call.js';
import { DetachableEvents } from './detachable-events.js';
import { readOn } from './read-on.js';
import { UsageMeter } from './usage-meter.js';

/** The gateway that reads a stream. */
export type Reader = Pick<CallContext, 'signal' | 'callerIsThere'>;

export interface RunDependencies {
  leases: Pick<LeaseKeeper, 'keep'>;
  settlements: Pick<LateSettlements, 'schedule' | 'settleAfter'>;
  logger: Logger;
}

/**
 * What one request has come to: what was returned, what it has used, and whether anybody still wants it. Three things stop
 * it: its reader has left, its hold is no longer ours, or its key was revoked. Where a client has left an upstream that hides some of what it
 * bills, the upstream is read on for a while, without a reader, and the hold is settled here (docs/money.md, "When a client leaves").
 */
export class InferenceRun {
  hasReturnedContent = false;
  hasFinished = false;
  /** The reader has left, and the call goes on without it. */
  isReadingOn = false;
  private meter: UsageMeter;
  /** The one under way. */
  private call: RouteCall | undefined;
  /** Its events, where it may be read on. */
  private readable: { events: DetachableEvents; limits: ReadOnLimits } | undefined;
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
    private readonly reader: Reader,
    private readonly dependencies: RunDependencies,
  ) {
    this.meter = new UsageMeter(job.ticket);
    this.standIn = new StandIn(dependencies.settlements, reader, {
      settlement: () => this.settlement(),
      readerLeft: () => this.readerLeft(),
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
    this.readable = undefined;
    this.upstream = call.client.upstream.id;
    return this.meter;
  }

  /** Keeps hold of the events of the call under way, where they may be wanted without their reader. */
  follow(events: AsyncGenerator<readonly StreamEvent[], void, undefined>): AsyncIterable<readonly StreamEvent[]> {
    const limits = this.call && readOnLimits(this.call.client.upstream);
    if (limits === undefined) return events;
    const detachable = new DetachableEvents(events);
    this.readable = { events: detachable, limits };
    return detachable;
  }

  /**
   * Gives the route back, once, as soon as the reply is whole or has failed, or nobody wants it any more: whoever reads slowly keeps
   * nobody from it. What a call had received that failed before any of it was returned is owed by nobody, and is forgotten here.
   */
  endCall(failure?: UpstreamFailure, isComplete = this.hasFinished): void {
    const { call, meter } = this;
    if (call === undefined) return;
    this.call = undefined;
    call.end({
      outcome: failure?.code ?? (isComplete ? 'completed' : 'cancelled'),
      failure,
      usage: meter.hasContent ? meter.soFar() : undefined,
    });
    if (failure !== undefined) this.logFailure(call, failure);
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
    if (this.isReadingOn) yield this.withUpstream([{ type: 'settlement-deferred' }]);
    if (this.isReadingOn || this.hasFinished) return;
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

  /** Whether the gateway settles is seen to, also when it has died with the last events in its hands. What is read on ends later. */
  end(): void {
    if (this.isReadingOn) return;
    this.endCall();
    this.endLease(this.standIn.end(this.settlement()));
    if (!this.hasFinished) this.halt('given up');
  }

  /** Returns true when the hold is settled here, by what the upstream reports. */
  private readerLeft(): boolean {
    const { call, readable, meter, reader } = this;
    const isClientsDoing = reader.signal.reason === DETACHED;
    if (isClientsDoing) meter.clientDisconnected();
    if (!isClientsDoing || call === undefined || readable === undefined || !meter.hasBegun) {
      this.halt('reader left');
      return false;
    }
    this.isReadingOn = true;
    const rest = readable.events.detach();
    this.dependencies.settlements.settleAfter((closing) => this.readOn(call, rest, readable.limits, closing));
    return true;
  }

  /**
   * Reads the upstream to its end, for `readOnMs` at most, and returns what the request comes to: what it would have come to with a client,
   * or, where that does not become known, what was counted and the floor for what was hidden.
   */
  private async readOn(
    call: RouteCall,
    rest: AsyncIterable<readonly StreamEvent[]>,
    { readOnMs, hiddenTokensFloor }: ReadOnLimits,
    closing: AbortSignal,
  ): Promise<SettleRequest> {
    const { meter, upstream } = this;
    const { ticket, request } = this.job;
    const stop = (): void => this.halt('read on for long enough');
    const timer = setTimeout(stop, readOnMs);
    closing.addEventListener('abort', stop, { once: true });
    const end = await readOn(rest, call, this.stopSignal);
    clearTimeout(timer);
    closing.removeEventListener('abort', stop);
    this.endLease();
    let usage: Usage | undefined;
    if (end === 'complete') usage = meter.final();
    else if (end === 'stopped') usage = meter.withHidden(hiddenTokensFloor);
    else if (request.stream && meter.hasContent) usage = meter.soFar();
    if (end === 'complete' || end === 'stopped') this.endCall(undefined, end === 'complete');
    else this.endCall(end);
    return { holdId: ticket.holdId, accountId: ticket.accountId, reason: 'client-disconnected', usage, upstream };
  }

  private logFailure(call: RouteCall, failure: UpstreamFailure): void {
    const { requestId, holdId } = this.job.ticket;
    const { model } = this.job.request;
    logFailure(this.dependencies.logger, failure, {
      requestId,
      holdId,
      upstream: call.client.upstream.id,
      model,
      upstreamModel: call.model,
    });
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
    const reason = this.hasFinished ? 'completed' : this.failed ? 'failed' : 'client-disconnected';
    const billed = this.hasFinished ? this.meter.final() : this.failed && !this.hasReturnedContent ? undefined : this.meter.soFar();
    return { holdId, accountId, reason, usage: billed, upstream: this.upstream };
  }
}

/** A request, as far as it is to be settled. */
interface Unsettled {
  settlement(): SettleRequest;
  /** Returns true when it settles by itself. */
  readerLeft(): boolean;
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
    this.run = { settlement: () => settlement, readerLeft: () => false };
    return this.reader.signal.aborted ? undefined : () => this.schedule(0);
  }

  private onReaderLeft(): void {
    if (!this.run.readerLeft()) this.schedule();
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
