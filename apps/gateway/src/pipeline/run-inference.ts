import { randomUUIDv7 } from 'node:crypto';
import type { SettleOutcome } from '#contracts/billing/holds.js';
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
import { type Ending, Meter } from './meter.js';
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

export interface InferenceCall {
  request: InferenceRequest | EncodedRequest;
  caller: ResolvedKey;
  requestId: string;
  /** W3C trace context of the caller, passed on. */
  traceparent?: string;
}

/** What is known of a call by now, for the access log. Filled in as it becomes known. */
export interface InferenceRecord {
  model?: string;
  stream?: boolean;
  holdId?: string;
  upstream?: string;
  ending?: Ending;
  /** The inference-proxy settles the hold: what the request costs is not known here. */
  settlement?: 'deferred';
  usage?: Usage;
  /** Absent while the settlement is not yet safe. */
  costPicoUsd?: string;
}

/**
 * One paid request: quote → reserve → stream → settle → finish, plain and streamed alike. Throws the `GatewayError` a client
 * is to see; by then the hold has been settled. Returns when the reply is finished, or settled after its client left. A reply that
 * is stopped with an error fails with it, unless it is complete before the upstream has stopped.
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
  const ending: Ending = isClientGone(stopped) ? 'client-disconnected' : finished && !failure ? 'completed' : 'failed';
  record.ending = ending;
  record.upstream = meter.upstream;
  if (ending === 'client-disconnected' && meter.isDeferred) {
    record.settlement = 'deferred';
    return;
  }
  const outcome = await settle(services, call, hold.holdId, meter, ending, record);
  record.costPicoUsd = outcome?.costPicoUsd;

  if (ending === 'client-disconnected') return;
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
    // Whether it was made is unknown: end it, also if it is made only later (billing.md 4, "Reserve arriving after its release").
    () => void services.settlements.settle({ holdId, accountId: call.caller.accountId, reason: 'released' }),
  );
  if (outcome.status !== 'held') throw refusalError(outcome, quote, model.price);
  record.holdId = holdId;
  return { holdId, leaseMs: outcome.leaseMs };
}

/**
 * Passes events on until the stream ends, and returns why it failed, undefined when it did not. When the reply is stopped, so is
 * the upstream, and what it still brings is read: it is paid for, and passed on to a client that is there. For a client that is gone the
 * inference-proxy may read the upstream on by itself.
 */
async function relay(open: () => EventStream<StreamEvent>, meter: Meter, reply: Reply): Promise<GatewayError | undefined> {
  let stream: EventStream<StreamEvent> | undefined;
  const { stopped } = reply;
  const cancel = (): void => stream?.cancel({ detach: isClientGone(stopped) });
  stopped.addEventListener('abort', cancel, { once: true });
  try {
    stream = open();
    for await (const batch of stream) {
      meter.read(batch);
      if (isClientGone(stopped)) continue;
      const isLast = meter.terminal !== undefined;
      const sent = reply.send(isLast ? batch.slice(0, -1) : batch, isLast);
      if (sent) await sent;
    }
  } catch (error) {
    // The terminal event is the last word: a connection that breaks after it changes nothing.
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

function isClientGone(stopped: AbortSignal): boolean {
  return stopped.aborted && stopError(stopped) === undefined;
}

function settle(
  services: InferenceServices,
  call: InferenceCall,
  holdId: string,
  meter: Meter,
  ending: Ending,
  record: InferenceRecord,
): Promise<SettleOutcome | undefined> {
  const usage = meter.billable(ending);
  record.usage = usage;
  return services.settlements.settle({ holdId, accountId: call.caller.accountId, reason: ending, usage, upstream: meter.upstream });
}
