import { randomUUIDv7 } from 'node:crypto';
import type { SettleRequest } from '#contracts/billing/holds.js';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import type { Ticket } from '#contracts/inference.js';
import { TOKENS_MAX } from '#contracts/rules/bounds.js';
import { GatewayError } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { type EventStream, MessagingError } from '#messaging/messaging.js';
import { callSpanId, ownTraceId, readTraceId, type TraceContext } from '#tracing/trace-context.js';
import { type Span, underSpan } from '#tracing/tracer.js';
import type { Model } from '../clients/catalog.js';
import { inferenceError } from '../clients/inference.js';
import type { InferenceCall, InferenceRecord, InferenceServices } from './inference-call.js';
import { limitCost } from './max-cost.js';
import { Meter, type RequestOutcome } from './meter.js';
import type { PolicyOutcome } from './policy/policies.js';
import { capOutput, type Quote, quoteRequest } from './quote.js';
import { atQuotedPrice, withinPromise } from './quotes.js';
import { type Reply, stopError } from './reply.js';
import { reserveError } from './reserve-error.js';
import type { RequestFields } from './settle-on-end.js';

/**
 * Runs one paid request, plain or streamed: policy, where the project has one → quote → reserve → stream → settle → finish. Throws the
 * `GatewayError` for the client. Settles before it throws or finishes the reply, and waits for billing at most `settleAnswerMs`. For a
 * disconnected client it returns after the settle, or at once when the inference-proxy settles. If `reply.stopped` carries an error, that
 * error is thrown, unless the reply was complete before the cancel took effect.
 */
export async function runInference(services: InferenceServices, call: InferenceCall, reply: Reply, record: InferenceRecord): Promise<void> {
  const model = atQuotedPrice(services.catalog.model(call.request.model, call.caller), call.promised);
  record.model = model.id;
  record.stream = call.request.stream;
  if (call.caller.policy !== undefined && !(await obeyPolicy(services, call, { policy: call.caller.policy, model }, reply, record))) return;
  const startedAt = performance.now();
  const { activity } = record;
  const capped = capOutput(quoteRequest(model, call.request), call.outputTokensCap);
  const quote = limitCost(withinPromise(capped, call.promised), call.maxCost);
  const { promptTokensEstimate, outputTokensMax } = quote;
  if (activity) Object.assign(activity, { promptTokensEstimate, outputTokensMax });
  reply.prepare?.(quote);
  services.settlements.checkBacklog();
  const hold = await reserve(services, call, model, quote, record);
  const heldAt = performance.now();
  record.reserveMs = heldAt - startedAt;
  if (activity) activity.heldAt = heldAt;

  const meter = new Meter(quote, call.request.stream);
  const ticket = {
    ...hold,
    accountId: call.caller.accountId,
    requestId: call.requestId,
    keyId: call.caller.keyId,
    outputTokensMax,
    promptTokensEstimate,
    ...(quote.embedding && { embeddingDimensions: quote.embedding.dimensions }),
    ...(activity && { reportsAttempts: true }),
  };
  const { stopped } = reply;
  // Stopped while the hold was made: the upstream is not called.
  const failure = stopped.aborted ? stopError(stopped) : await relay(services, { ticket, ...call }, meter, reply);

  const finished = meter.terminal?.type === 'completion-finish' ? meter.terminal : undefined;
  const outcome: RequestOutcome = isClientDisconnected(stopped) ? 'client-disconnected' : finished && !failure ? 'completed' : 'failed';
  record.outcome = outcome;
  record.upstream = meter.upstream;
  record.attempts = meter.calls;
  record.queueMs = meter.queueMs;
  if (activity) Object.assign(activity, { attempts: meter.attempts, lastContentAt: finished && performance.now() });
  if (outcome === 'client-disconnected' && meter.isDeferred) {
    record.settlement = 'deferred';
    return;
  }
  const usage = meter.billable(outcome);
  record.usage = usage;
  const unbilledTokens = usage ? meter.countUnbilled(usage) : 0;
  if (unbilledTokens > 0) record.unbilledTokens = unbilledTokens;
  const { upstream } = meter;
  const settlement = { holdId: ticket.holdId, accountId: ticket.accountId, reason: outcome, usage, upstream };
  // Such a request is exported in any case: billing then exports its settlement too.
  if (outcome === 'failed' && failure && failure.status >= 500) call.span?.fail(failure.code);
  call.span?.chooseIfDue();
  const settlesAt = performance.now();
  const settled = await settle(services, call, settlement);
  record.settleMs = performance.now() - settlesAt;
  if (settled && settled.status !== 'unknown') record.costPicoUsd = settled.costPicoUsd;

  if (outcome === 'client-disconnected') return;
  if (failure) throw failure;
  if (finished && usage) reply.finish(finished.reason, usage);
}

/**
 * Asks the policy of the project, which may change the call. What it is asked about has passed the checks of a quote. Returns false when the
 * client has disconnected meanwhile.
 */
async function obeyPolicy(
  { policies }: InferenceServices,
  call: InferenceCall,
  { policy, model }: { policy: ProjectPolicy; model: Model },
  { stopped }: Reply,
  record: InferenceRecord,
): Promise<boolean> {
  const quote = quoteRequest(model, call.request);
  const startedAt = performance.now();
  record.policy = policy.name;
  const span = call.span?.startChild('policy', 'client', { 'tollgate.policy': policy.name });
  const question = { policy, quote, stopped, trace: sentContext(span, call.trace) };
  const onOutcome = (outcome: PolicyOutcome): void => {
    record.policyOutcome = outcome;
    record.policyMs = performance.now() - startedAt;
    span?.set({ 'tollgate.policy.outcome': outcome });
  };
  await underSpan(span, () => policies.apply(call, question, onOutcome));
  const error = stopError(stopped);
  if (error) throw error;
  return !stopped.aborted;
}

async function reserve(
  services: InferenceServices,
  call: InferenceCall,
  model: Model,
  quote: Quote,
  record: InferenceRecord,
): Promise<{ holdId: string; leaseMs: number }> {
  const holdId = randomUUIDv7();
  const span = call.span?.startChild('reserve', 'client', { 'tollgate.hold_id': holdId });
  const request = {
    holdId,
    keyId: call.caller.keyId,
    projectId: call.caller.projectId,
    accountId: call.caller.accountId,
    requestId: call.requestId,
    model: model.id,
    amountPicoUsd: quote.amount.toString(),
    price: quote.pinnedPrice,
    amountTokens: quote.promptTokensMax + quote.outputTokensMax,
    tokensMax: Math.min(quote.promptTokensEstimate + quote.outputTokensMax, TOKENS_MAX),
    attribution: call.attribution,
    ...(call.sessionLimit !== undefined && { sessionLimitPicoUsd: String(call.sessionLimit) }),
    ...(call.caller.child && { childLimitsPicoUsd: call.caller.child.limitsPicoUsd }),
    traceparent: sentContext(span, call.trace)?.traceparent,
  };
  // Called when billing gave no answer: the hold may exist, or may still be made. A release ends it, or leaves a tombstone that refuses
  // the late reserve.
  const released = { holdId, accountId: call.caller.accountId, reason: 'released' } as const;
  const release = () => void services.settlements.settle(released, logFields(call));
  const reserved = await underSpan(span, () => services.billing.reserve(request, release));
  if ('requests' in reserved) record.requests = reserved.requests;
  if ('tokens' in reserved) record.tokens = reserved.tokens;
  if (reserved.status !== 'held') throw reserveError(reserved, quote);
  record.holdId = holdId;
  record.heldPicoUsd = request.amountPicoUsd;
  return { holdId, leaseMs: reserved.leaseMs };
}

async function settle({ settlements }: InferenceServices, call: InferenceCall, settlement: SettleRequest) {
  const { span: parent } = call;
  const span = parent?.startChild('settle', 'client', { 'tollgate.hold_id': settlement.holdId, 'tollgate.reason': settlement.reason });
  return settlements.settle({ ...settlement, ...carried(span) }, logFields(call), span);
}

function logFields({ requestId, trace, span, caller }: InferenceCall): RequestFields {
  return { requestId, traceId: span?.traceId ?? (trace === undefined ? ownTraceId(requestId) : readTraceId(trace)), keyId: caller.keyId };
}

/**
 * Returns the context to send; undefined for a trace that the gateway began and did not choose: the services behind make it themselves of
 * the ids of request and hold (`unsampledContext`, `ownTraceId`).
 */
function sentContext(span: Span | undefined, trace: TraceContext | undefined): TraceContext | undefined {
  return span && (span.isSampled || trace !== undefined) ? span.context : trace;
}

/** Returns the context that an item of a batch for billing carries: a message serves many traces, so its headers cannot. */
function carried(span: Span | undefined): { traceparent: string } | undefined {
  return span?.isSampled ? { traceparent: span.context.traceparent } : undefined;
}

/**
 * Forwards events until the stream ends. Returns the failure, if any. When the reply is stopped, the upstream is cancelled and its
 * remaining events are read, because they are billed; a connected client still gets them. For a disconnected client the inference-proxy
 * may read on (`detach`) and settle itself.
 */
async function relay(
  { inference }: InferenceServices,
  { ticket, request, trace, span: parent }: InferenceCall & { ticket: Ticket },
  meter: Meter,
  reply: Reply,
): Promise<GatewayError | undefined> {
  const span = parent?.startChild('inference', 'client', { 'gen_ai.request.model': request.model }, callSpanId(ticket.holdId));
  const failure = await forward(() => inference.open({ ticket, request }, sentContext(span, trace)), meter, reply);
  span?.set({ 'tollgate.upstream': meter.upstream });
  if (failure !== undefined && !isClientDisconnected(reply.stopped)) span?.fail(failure.code);
  span?.end();
  return failure;
}

async function forward(open: () => EventStream<StreamEvent>, meter: Meter, reply: Reply): Promise<GatewayError | undefined> {
  let stream: EventStream<StreamEvent> | undefined;
  const { stopped } = reply;
  const cancel = (): void => stream?.cancel({ detach: isClientDisconnected(stopped) });
  stopped.addEventListener('abort', cancel, { once: true });
  try {
    stream = open();
    for await (const batch of stream) {
      meter.read(batch);
      if (isClientDisconnected(stopped)) continue;
      const isLast = meter.terminal !== undefined;
      const sent = reply.send(isLast ? batch.slice(0, -1) : batch, isLast);
      if (sent) await sent;
    }
  } catch (error) {
    // After the terminal event, an error of the NATS stream changes nothing.
    if (!(meter.terminal && error instanceof MessagingError)) return stopError(stopped) ?? inferenceError(error);
  } finally {
    stopped.removeEventListener('abort', cancel);
  }
  if (meter.terminal) return toFailure(meter.terminal);
  return stopError(stopped) ?? new GatewayError('upstream_error', 'The model stopped before its reply was complete.');
}

function toFailure(terminal: NonNullable<Meter['terminal']>): GatewayError | undefined {
  if (terminal.type === 'completion-finish') return undefined;
  return new GatewayError(terminal.code, terminal.message, { retryAfterSeconds: terminal.retryAfterSeconds });
}

function isClientDisconnected(stopped: AbortSignal): boolean {
  return stopped.aborted && stopError(stopped) === undefined;
}
