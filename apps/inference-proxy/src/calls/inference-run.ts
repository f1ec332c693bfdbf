import type { SettleRequest } from '#contracts/billing/holds.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { type ReadOnLimits, readOnLimits } from '#contracts/upstream-defaults.js';
import {
  appendEvent,
  type CompletionFailure,
  type FinishReason,
  isContent,
  type StreamEvent,
  type UpstreamStart,
} from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { type CallContext, DETACHED } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { logFailure } from '../failures/log-failure.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { LeaseKeeper, LeaseLoss } from '../leases/lease-keeper.js';
import type { RunFields } from '../leases/run-fields.js';
import type { SettleForGateway } from '../leases/settle-for-gateway.js';
import type { RouteCall } from '../routing/route-state.js';
import { AttemptReport } from './attempt-report.js';
import { DetachableEvents } from './detachable-events.js';
import { readOn } from './read-on.js';
import { RunTrace, type TraceDependencies } from './run-trace.js';
import { UsageMeter } from './usage-meter.js';

/** The gateway that reads the stream, for its client. */
export type Reader = Pick<CallContext, 'signal' | 'callerIsThere'> & Partial<Pick<CallContext, 'trace'>>;

export interface RunDependencies extends TraceDependencies {
  leases: Pick<LeaseKeeper, 'keep'>;
  settlements: Pick<SettleForGateway, 'schedule' | 'settleAfter'>;
  logger: Logger;
}

/**
 * State of one request over all its calls: what was returned, what it has used, and the settlement that follows from it. The request is
 * aborted when its reader leaves, its hold is lost or its key is revoked. When a client disconnects from an upstream that bills hidden
 * output, the run reads the reply on for its usage and settles the hold itself.
 */
export class InferenceRun {
  hasReturnedContent = false;
  /** True after the reader has left while the reply is read on for its usage. */
  isReadingOn = false;
  private meter: UsageMeter;
  /** The call in progress. */
  private call: RouteCall | undefined;
  /** Events of the call in progress, if it may be read on. */
  private readable: { events: DetachableEvents; limits: ReadOnLimits } | undefined;
  /** Id of the upstream that the received events are from. */
  private upstream: string | undefined;
  private failedUpstream: string | undefined;
  /** Set when the reply was returned to its end. */
  private finishReason: FinishReason | undefined;
  private announced = false;
  /** Calls that were begun, and the time that the request waited for them. */
  private callsBegun = 0;
  private queueMs = 0;
  private collected: StreamEvent[] = [];
  private loss: LeaseLoss | undefined;
  private failed = false;
  private readonly attempts: AttemptReport;
  readonly trace: RunTrace;
  private readonly abortController = new AbortController();
  private readonly fallback: FallbackSettler;
  private readonly endLease: ReturnType<LeaseKeeper['keep']>;

  constructor(
    readonly job: GenerateRequest,
    private readonly reader: Reader,
    private readonly dependencies: RunDependencies,
  ) {
    this.meter = new UsageMeter(job.ticket);
    this.attempts = new AttemptReport(job.ticket.reportsAttempts);
    this.trace = new RunTrace(job, reader.trace, dependencies);
    this.fallback = new FallbackSettler(dependencies.settlements, reader, this.trace.fields, {
      settlement: () => this.settlement(),
      onReaderLeft: () => this.onReaderLeft(),
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

  get hasFinished(): boolean {
    return this.finishReason !== undefined;
  }

  /** Fires when the upstream call must end. */
  get abortSignal(): AbortSignal {
    return this.abortController.signal;
  }

  get isAborted(): boolean {
    return this.abortController.signal.aborted;
  }

  startAttempt(call: RouteCall): UsageMeter {
    this.call = call;
    this.readable = undefined;
    this.upstream = call.client.upstream.id;
    this.callsBegun += 1;
    this.queueMs += call.queueMs;
    this.trace.startAttempt(call);
    return this.meter;
  }

  /** Makes the events of the call detachable if the upstream may be read on. Embeddings have no hidden output. */
  detachable(events: AsyncGenerator<readonly StreamEvent[], void, undefined>): AsyncIterable<readonly StreamEvent[]> {
    if (this.call === undefined || this.job.request.embedding !== undefined) return events;
    const { client, capabilities } = this.call;
    const { kind, timeouts } = client.upstream;
    const limits = readOnLimits({ kind, timeouts, capabilities });
    if (limits === undefined) return events;
    const detachable = new DetachableEvents(events);
    this.readable = { events: detachable, limits };
    return detachable;
  }

  /**
   * Ends the call and frees its route, once, even when the reader has not taken the last events yet. What a failed call received before
   * anything was returned is not billed.
   */
  endCall(failure?: UpstreamFailure, isComplete = this.hasFinished): void {
    const { call, meter } = this;
    if (call === undefined) return;
    this.call = undefined;
    this.attempts.record(call, failure);
    const outcome = failure?.code ?? (isComplete ? 'completed' : 'cancelled');
    const end = { outcome, failure, usage: meter.hasContent ? meter.soFar() : undefined, unbilledTokens: meter.outputTokensOver };
    call.end(end);
    this.trace.endAttempt(call, end, this.finishReason);
    if (failure !== undefined) logFailure(this.dependencies.logger, failure, this.logFields(call));
    for (const { kind, detail } of call.oddities.values()) {
      this.dependencies.logger.warn({ ...this.logFields(call), oddity: kind, detail }, 'odd reply of an upstream');
    }
    if (meter.outputTokensOver > 0) {
      const { outputTokensMax } = this.job.ticket;
      const { outputTokensOver } = meter;
      this.dependencies.logger.warn(
        { ...this.logFields(call), outputTokensMax, outputTokensOver },
        'upstream counted more output than its cap: the excess is not billed',
      );
    }
    if (failure === undefined || this.hasReturnedContent) return;
    this.meter = new UsageMeter(this.job.ticket);
    this.collected = [];
    this.failedUpstream = this.upstream;
    this.upstream = undefined;
  }

  /** Records that events are returned. Returns them, the first after `upstream-start`. */
  markReturned(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (!this.hasReturnedContent) this.hasReturnedContent = events.some(isContent);
    const last = events.at(-1);
    if (last?.type === 'completion-finish') this.finishReason = last.reason;
    return this.withUpstream(events);
  }

  collect(events: readonly StreamEvent[]): void {
    for (const event of events) appendEvent(this.collected, event);
  }

  returnCollected(): readonly StreamEvent[] {
    return this.markReturned(this.collected);
  }

  /**
   * Yields what ends the stream: nothing after a finish, `settlement-deferred` while the reply is read on, otherwise the usage if content
   * was returned or the reader has left, and the failure if there is one.
   */
  *lastBatches(failure: UpstreamFailure | undefined, retryAfterSeconds?: number): Generator<readonly StreamEvent[]> {
    if (this.isReadingOn) yield this.withAttempts(this.withUpstream([{ type: 'settlement-deferred' }]));
    if (this.isReadingOn || this.hasFinished) return;
    if (this.isAborted && this.loss === undefined) {
      const received: StreamEvent[] = [...this.markReturned(this.collected), { type: 'usage-report', usage: this.meter.soFar() }];
      yield this.withAttempts(this.withUpstream(received));
      return;
    }
    this.failed = true;
    if (this.loss === undefined) this.upstream ??= this.failedUpstream;
    const { code, message } = this.loss ? LOSSES[this.loss] : (failure ?? UNEXPECTED);
    this.trace.failed(code);
    const events: StreamEvent[] = this.hasReturnedContent ? [{ type: 'usage-report', usage: this.meter.soFar() }] : [];
    yield this.withAttempts(this.withUpstream([...events, { type: 'completion-failure', code, message, retryAfterSeconds }]));
  }

  /** Adds the report of the calls to the last batch of the stream. */
  withAttempts(events: readonly StreamEvent[]): readonly StreamEvent[] {
    return this.attempts.addTo(events, this.call);
  }

  /** Ends the run, unless its reply is read on. A hold that the gateway does not settle is settled later. */
  end(): void {
    if (this.isReadingOn) return;
    this.endCall();
    this.endLease(this.fallback.end(this.settlement()));
    if (!this.hasFinished) this.halt('given up');
    this.trace.end();
  }

  /** Returns true when the reply is read on: the run then settles the hold itself, by what the upstream reports. */
  private onReaderLeft(): boolean {
    const { call, readable, meter, reader } = this;
    const isClientGone = reader.signal.reason === DETACHED; // the gateway lives; otherwise it has left, or was lost
    if (isClientGone) meter.clientDisconnected();
    if (!isClientGone || call === undefined || readable === undefined || !meter.hasBegun) {
      this.halt('reader left');
      return false;
    }
    this.isReadingOn = true;
    const rest = readable.events.detach();
    this.dependencies.settlements.settleAfter((shutdown) => this.readOn(call, rest, readable.limits, shutdown), this.trace.fields);
    return true;
  }

  /**
   * Reads the reply to its end, for at most `readOnMs`, and returns its settlement: what the client would have paid had it stayed; when the
   * reading is aborted (time, shutdown or a lost lease), the usage so far plus the floor for hidden output; after a failure, the usage so
   * far of a stream with content.
   */
  private async readOn(
    call: RouteCall,
    rest: AsyncIterable<readonly StreamEvent[]>,
    { readOnMs, hiddenTokensFloor }: ReadOnLimits,
    shutdown: AbortSignal,
  ): Promise<SettleRequest> {
    const { meter, upstream } = this;
    const { ticket, request } = this.job;
    const stop = (): void => this.halt('reading on ended');
    const timer = setTimeout(stop, readOnMs);
    shutdown.addEventListener('abort', stop, { once: true });
    const end = await readOn(rest, call, this.abortSignal);
    clearTimeout(timer);
    shutdown.removeEventListener('abort', stop);
    this.endLease();
    let usage: Usage | undefined;
    if (end === 'complete') usage = meter.final();
    else if (end === 'aborted') usage = meter.withHidden(hiddenTokensFloor);
    else if (request.stream && meter.hasContent) usage = meter.soFar();
    if (end === 'complete' || end === 'aborted') this.endCall(undefined, end === 'complete');
    else this.endCall(end);
    this.trace.end();
    return { holdId: ticket.holdId, accountId: ticket.accountId, reason: 'client-disconnected', usage, upstream, ...this.trace.carried };
  }

  private logFields(call: RouteCall) {
    return { ...this.trace.fields, upstream: call.client.upstream.id, model: this.job.request.model, upstreamModel: call.model };
  }

  private halt(why: string): void {
    this.abortController.abort(new Error(why));
    this.endCall();
  }

  private withUpstream(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (this.announced || this.upstream === undefined || events.length === 0) return events;
    this.announced = true;
    const start: UpstreamStart = { type: 'upstream-start', upstream: this.upstream };
    const prompt = events.some(({ type }) => type === 'usage-report') ? undefined : this.meter.promptCounted;
    if (prompt !== undefined) start.prompt = prompt;
    if (this.callsBegun > 1) start.attempt = this.callsBegun;
    if (this.queueMs > 0) start.queueMs = Math.round(this.queueMs);
    return [start, ...events];
  }

  /** Settlement for a gateway that is gone. */
  private settlement(): SettleRequest {
    const { holdId, accountId } = this.job.ticket;
    const reason = this.hasFinished ? 'completed' : this.failed ? 'failed' : 'client-disconnected';
    const billed = this.hasFinished ? this.meter.final() : this.failed && !this.hasReturnedContent ? undefined : this.meter.soFar();
    return { holdId, accountId, reason, usage: billed, upstream: this.upstream, ...this.trace.carried };
  }
}

/** The part of a run that the fallback uses. */
interface Unsettled {
  settlement(): SettleRequest;
  /** Returns true when the reply is read on. */
  onReaderLeft(): boolean;
}

/**
 * Settles for a gateway that is gone, possibly long after the end of the request. After the end it keeps only the settlement, because
 * the run keeps a request of up to 8 MB in memory.
 */
class FallbackSettler {
  constructor(
    private readonly settlements: RunDependencies['settlements'],
    private readonly reader: Reader,
    private readonly fields: RunFields,
    private run: Unsettled,
  ) {
    // The listener stays after the end: a gateway that is lost before the last frame arrives cannot settle either.
    if (reader.signal.aborted) this.onReaderLeft();
    else reader.signal.addEventListener('abort', () => this.onReaderLeft(), { once: true });
  }

  /**
   * Takes the final settlement. Returns a callback for a hold that is still open later; undefined when the reader has left, because a
   * settlement is scheduled already.
   */
  end(settlement: SettleRequest): (() => void) | undefined {
    this.run = { settlement: () => settlement, onReaderLeft: () => false };
    return this.reader.signal.aborted ? undefined : () => this.schedule(0);
  }

  private onReaderLeft(): void {
    if (!this.run.onReaderLeft()) this.schedule();
  }

  private schedule(delayMs?: number): void {
    this.settlements.schedule(() => this.run.settlement(), this.reader, this.fields, delayMs);
  }
}

const LOSSES: Record<LeaseLoss, Omit<CompletionFailure, 'type'>> = {
  // Billing was unreachable for most of a lease, or has ended the hold.
  lost: { code: 'model_unavailable', message: 'Billing is temporarily unavailable. Try again.' },
  revoked: { code: 'invalid_api_key', message: 'The API key is not valid or has been revoked.' },
};

const UNEXPECTED: Omit<CompletionFailure, 'type'> = { code: 'internal_error', message: 'An unexpected error occurred.' };
