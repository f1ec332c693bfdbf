import type { Attribution } from '#contracts/billing/attribution.js';
import type { LimitLeft } from '#contracts/billing/holds.js';
import type { Attempt } from '#inference/attempt.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Usage } from '#inference/usage.js';
import type { TraceContext } from '#tracing/trace-context.js';
import type { Span } from '#tracing/tracer.js';
import type { BillingClient } from '../clients/billing.js';
import type { Caller } from '../clients/caller.js';
import type { CatalogClient } from '../clients/catalog.js';
import type { InferenceClient } from '../clients/inference.js';
import type { EncodedRequest } from '../encoded-request.js';
import type { MaxCost } from './max-cost.js';
import type { RequestOutcome } from './meter.js';
import type { Policies, PolicyOutcome } from './policy/policies.js';
import type { Promised } from './quotes.js';
import type { SettleOnEnd } from './settle-on-end.js';

/** A paid request, and what is known of its client. `runInference` runs it. */
export interface InferenceCall {
  request: InferenceRequest | EncodedRequest;
  caller: Caller;
  requestId: string;
  /** Absent: nothing is known of who the request is for. */
  attribution?: Attribution | undefined;
  /** The most that the request lets its session cost. Absent: what budgets allow. */
  sessionLimit?: bigint | undefined;
  /** Absent: the client has no quote. */
  promised?: Promised | undefined;
  /** Absent: the client sets no maximum. */
  maxCost?: MaxCost | undefined;
  /** The highest output cap that the policy of the project allows. Absent: any. */
  outputTokensCap?: number | undefined;
  /** Trace context of the client, if it sent one. */
  trace?: TraceContext | undefined;
  /** Absent while traces are not exported. */
  span?: Span | undefined;
}

export interface InferenceServices {
  catalog: CatalogClient;
  billing: BillingClient;
  inference: InferenceClient;
  settlements: SettleOnEnd;
  policies: Pick<Policies, 'apply'>;
}

/** Facts about a request for the access log. Fields are set as they become known. */
export interface InferenceRecord {
  model?: string;
  stream?: boolean;
  holdId?: string;
  /** Set with `holdId`: the most that the request could cost. */
  heldPicoUsd?: string;
  /** Milliseconds from the parsed request to its hold, without those of its policy. */
  reserveMs?: number;
  /** The policy that was asked, what became of it, and the milliseconds that it took. Absent: the project has none. */
  policy?: string;
  policyOutcome?: PolicyOutcome;
  policyMs?: number;
  /** The rest of the limits per minute; absent when billing did not say. */
  requests?: LimitLeft;
  tokens?: LimitLeft;
  upstream?: string | undefined;
  /** Calls of upstreams. */
  attempts?: number | undefined;
  /** Milliseconds in admission queues of the inference-proxy, if the request waited. */
  queueMs?: number | undefined;
  outcome?: RequestOutcome;
  /** Set when the request is refused. */
  attribution?: Attribution | undefined;
  /** Set when the inference-proxy settles the hold, so that the gateway does not learn the cost. */
  settlement?: 'deferred';
  usage?: Usage;
  /** Tokens beyond the hold that the upstream counted. They are neither billed nor shown. */
  unbilledTokens?: number;
  /** Absent if the settlement was not recorded when the reply ended. */
  costPicoUsd?: string;
  /** Milliseconds that the reply waited for its settlement. */
  settleMs?: number;
  /** Filled if present: `ACTIVITY_EVENTS` is on. */
  activity?: InferenceActivity | undefined;
}

/** The course of a request. Times are of `performance.now()`. */
interface InferenceActivity {
  promptTokensEstimate?: number;
  outputTokensMax?: number;
  heldAt?: number;
  /** The model's reply was complete. */
  lastContentAt?: number;
  attempts?: readonly Attempt[];
}
