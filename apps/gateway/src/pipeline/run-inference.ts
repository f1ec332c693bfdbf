import { randomUUIDv7 } from 'node:crypto';
import type { ResolvedKey } from '#contracts/billing/keys.js';
import { GatewayError } from '#inference/errors.js';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { type EventStream, MessagingError } from '#messaging/messaging.js';
import type { BillingClient } from '../clients/billing.js';
import type { CatalogClient, Model } from '../clients/catalog.js';
import { type InferenceClient, inferenceError } from '../clients/inference.js';
import type { EncodedRequest } from '../encoded-request.js';
import { Meter, type Outcome } from './meter.js';
import { type Quote, quoteRequest } from './quote.js';
import { refusalError } from './refusal.js';
import { type Reply, stopError } from './reply.js';
import type { SettleOnEnd } from './settle-on-end.js';

export interface InferenceServices {
  catalog: CatalogClient;
  billing: BillingClient;
  inference: InferenceClient;
  settlements: SettleOnEnd;
}

interface InferenceCall {
  request: InferenceRequest | EncodedRequest;
  caller: ResolvedKey;
  requestId: string;
  /** W3C trace context of the client, forwarded to the upstream. */
  traceparent?: string;
}

/** Facts about a request for the access log. Fields are set as they become known. */
export interface InferenceRecord {
  model?: string;
  stream?: boolean;
  holdId?: string;
  upstream?: string;
  outcome?: Outcome;
  /** Set when the inference-proxy settles the hold, so that the gateway does not learn the cost. */
  settlement?: 'deferred';
  usage?: Usage;
  /** Absent until the settlement was recorded. */
  costPicoUsd?: string;
}

/**
 * Runs one paid request, plain or streamed: quote → reserve → stream → settle → finish. Throws the client's `GatewayError` after the hold
 * was settled. Returns when the reply is finished, or when the hold of a disconnected client is settled. A reply that is stopped with an
 * error fails with it, unless it completes before the upstream stops.
 */
export async function runInference(services: InferenceServices, call: InferenceCall, reply: Reply, record: InferenceRecord): Promise<void> {
  const model = services.catalog.model(call.request.model);
  record.model = model.id;
  record.stream = call.request.stream;
  const quote = quoteRequest(model, call.request);
  services.settlements.checkBacklog();
  const hold = await reserve(services, call, model, quote, record);

  const meter = new Meter(quote, call.request.stream);
  const ticket = {
    ...hold,
    accountId: call.caller.accountId,
    requestId: call.requestId,
    outputTokensMax: quote.outputTokensMax,
    promptTokensEstimate: quote.promptTokensEstimate,
  };
  const open = () => services.inference.open({ ticket, request: call.request }, call.traceparent);
  const { stopped } = reply;
  const failure = stopped.aborted ? stopError(stopped) : await relay(open, meter, reply);

  const finished = meter.terminal?.type === 'completion-finish' ? meter.terminal : undefined;
  const outcome: Outcome = isClientDisconnected(stopped) ? 'client-disconnected' : finished && !failure ? 'completed' : 'failed';
  record.outcome = outcome;
  record.upstream = meter.upstream;
  if (outcome === 'client-disconnected' && meter.isDeferred) {
    record.settlement = 'deferred';
    return;
  }
  const usage = meter.billable(outcome);
  record.usage = usage;
  const { upstream } = meter;
  const settled = await services.settlements.settle({
    holdId: ticket.holdId,
    accountId: ticket.accountId,
    reason: outcome,
    usage,
    upstream,
  });
  record.costPicoUsd = settled?.costPicoUsd;

  if (outcome === 'client-disconnected') return;
  if (failure) throw failure;
  if (finished) reply.finish(finished.reason, meter.usage());
}

async function reserve(
  services: InferenceServices,
  call: InferenceCall,
  model: Model,
  quote: Quote,
  record: InferenceRecord,
): Promise<{ holdId: string; leaseMs: number }> {
  const holdId = randomUUIDv7();
  const outcome = await services.billing.reserve(
    {
      holdId,
      keyId: call.caller.keyId,
      projectId: call.caller.projectId,
      accountId: call.caller.accountId,
      requestId: call.requestId,
      model: model.id,
      amountPicoUsd: quote.amount.toString(),
      price: model.pinnedPrice,
    },
    // The hold may exist. A release also prevents a reserve that billing receives later.
    () => void services.settlements.settle({ holdId, accountId: call.caller.accountId, reason: 'released' }),
  );
  if (outcome.status !== 'held') throw refusalError(outcome, quote, model.price);
  record.holdId = holdId;
  return { holdId, leaseMs: outcome.leaseMs };
}

/**
 * Forwards events until the stream ends. Returns the failure, if any. When the reply is stopped, the upstream is cancelled and its
 * remaining events are read, because they are billed; a connected client still gets them. For a disconnected client the inference-proxy
 * may detach and read the upstream to its end.
 */
async function relay(open: () => EventStream<StreamEvent>, meter: Meter, reply: Reply): Promise<GatewayError | undefined> {
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
    // A connection that breaks after the terminal event changes nothing.
    if (!(meter.terminal && error instanceof MessagingError)) return stopError(stopped) ?? inferenceError(error);
  } finally {
    stopped.removeEventListener('abort', cancel);
  }
  if (meter.terminal) return failureOf(meter.terminal);
  return stopError(stopped) ?? new GatewayError('upstream_error', 'The model stopped before its reply was complete.');
}

function failureOf(terminal: NonNullable<Meter['terminal']>): GatewayError | undefined {
  if (terminal.type === 'completion-finish') return undefined;
  return new GatewayError(terminal.code, terminal.message, { retryAfterSeconds: terminal.retryAfterSeconds });
}

function isClientDisconnected(stopped: AbortSignal): boolean {
  return stopped.aborted && stopError(stopped) === undefined;
}
