import { IsOptional, IsString, Length } from 'class-validator';
import { Endpoint, EveryReplicaEndpoint, Topic } from './endpoint.js';
import { RevisionChanged, type Revisioned, RevisionRequest } from './revisions.js';

export class EmptyRequest {}

/** A model as the gateway needs it: what it can do, what it costs, nothing of where it runs. */
export interface CatalogModel {
  id: string;
  ownedBy: string;
  /** Unix seconds. */
  created: number;
  contextTokens: number;
  maxOutputTokens: number;
  defaultOutputTokens: number;
  input: ('text' | 'image')[];
  reasoning: boolean;
  tokensPerImageMax: number;
  /** A route of it gives earlier reasoning back to the model (`UpstreamCapabilities.reasoningEcho`): it is a part of the prompt. */
  reasoningEcho: boolean;
  /** Pico-USD a token, integer strings. A new version whenever any of them changes. */
  price: { version: number; inputPicoUsd: string; cachedInputPicoUsd: string; outputPicoUsd: string };
}

export interface ModelListReply extends Revisioned {
  /** Enabled models, in the order of the file. */
  models: CatalogModel[];
}

/**
 * Every replica answers, and the first answer is the one to take: a replica that cannot read its database answers late, and never with
 * less than it or the caller knows to exist.
 */
export const modelList = new EveryReplicaEndpoint<RevisionRequest, ModelListReply>(
  'catalog.v1.model.list',
  RevisionRequest,
  'Enabled models with capabilities and prices',
);

export interface UpstreamCapabilities {
  /** Accepts `stream_options.include_usage`. Default true. */
  streamOptions: boolean;
  /** Accepts `response_format.json_schema`. Default true. */
  jsonSchema: boolean;
  /** Accepts `parallel_tool_calls`, or `disable_parallel_tool_use`. Default true. */
  parallelToolCalls: boolean;
  /** Accepts `strict` on tools. Default true. */
  strictTools: boolean;
  /** Wants the `developer` role instead of `system`. Default false. */
  developerRole: boolean;
  /**
   * Where the chat template takes system messages: `anywhere`, only `first`, or `none` at all. Elsewhere their text joins the
   * user's (U-20, M-4). Default `anywhere`.
   */
  systemMessages: 'anywhere' | 'first' | 'none';
  /** Wants user and assistant in strict alternation, the user first (U-20). Default false. */
  alternatingRoles: boolean;
  /** Takes only ids of calls of exactly nine letters and digits (U-20). Default false. */
  nineCharacterCallIds: boolean;
  /** Accepts `seed` (U-22). Default true. */
  seed: boolean;
  /** Accepts `presence_penalty` and `frequency_penalty` (U-22). Default true. */
  penalties: boolean;
  /** Accepts `reasoning_effort` (`openai-chat`). Default false. */
  reasoningEffort: boolean;
  /** Name of the output cap: `max_tokens` or `max_completion_tokens`. Default `max_tokens`. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Implements `stop` itself. Default true; where false we match, and read the reply to its end for its usage. */
  stop: boolean;
  /** Wants earlier `reasoning_content` back on assistant turns (U-12). Default false. */
  reasoningEcho: boolean;
  /** Writes reasoning as `<think>…</think>` inside the text. Default false. */
  thinkTags: boolean;
  /** Takes `reasoning` and tells a summary of it (`openai-responses`). Default false. */
  reasoningSummary: boolean;
  /** Is asked for a stream even when the client was not (architecture.md, "Decisions"). Default false. */
  streamPlainRequests: boolean;
  /**
   * Bills output that its replies do not show, such as reasoning that is kept back or summarised. A call whose client leaves is then read
   * on for its usage (`readOnMs`). Default null: true for every kind but `openai-chat`. Absent from a catalog service older than the field.
   */
  hiddenReasoning?: boolean | null;
  /** Output tokens billed for hidden reasoning where no usage came before `readOnMs` was over. Default 1,024. Absent as `hiddenReasoning`. */
  hiddenTokensFloor?: number;
}

export interface UpstreamTimeouts {
  /** To the end of the TCP and TLS handshake. Default 5,000. */
  connectMs: number;
  /** From request to the first byte of the body. Default 120,000. */
  firstByteMs: number;
  /** Between two bytes of a stream. Default 60,000. */
  idleMs: number;
  /** The whole of a plain reply. Default 600,000. */
  totalMs: number;
  /** How long a call whose client has left is read on (`hiddenReasoning`). Default 30,000. Absent from a catalog service older than the field. */
  readOnMs?: number;
}

/** The dialects an upstream may speak (docs/upstreams.md). */
export const UPSTREAM_KINDS = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;

export interface Upstream {
  id: string;
  kind: (typeof UPSTREAM_KINDS)[number];
  baseUrl: string;
  /** Name of the environment variable of the inference-proxy that holds the secret; the catalog never sees the secret. */
  apiKeyEnv: string | null;
  /** Instead of it, a file in the proxy's folder of secrets: a key that is replaced there is in use within a second. */
  apiKeyFile?: string | null;
  /** Absent from a catalog service older than the field. Default null: the public authorities, no certificate of ours. */
  tls?: UpstreamTls | null;
  allowPrivateNetwork: boolean;
  capabilities: UpstreamCapabilities;
  timeouts: UpstreamTimeouts;
  /** Open sockets to it from one proxy replica. Default 256. */
  connectionsMax: number;
  /** Absent from a catalog service older than the field. Default null: none. */
  healthCheck?: UpstreamHealthCheck | null;
}

/** Files in the proxy's folder of secrets, PEM; a file that is replaced is used by the next connection. */
export interface UpstreamTls {
  /** Authorities that vouch for the upstream, instead of the public ones. */
  caFile?: string | null;
  /** The certificate we show, with its chain, and its key. */
  certFile?: string | null;
  keyFile?: string | null;
}

/** How a replica of the proxy asks an upstream, besides its traffic, whether it is well. */
export interface UpstreamHealthCheck {
  /** From the root of its host: `/health`. Asked with GET, without a key. */
  path: string;
  intervalMs: number;
}

export interface Route {
  upstream: string;
  /** The model's name there. */
  model: string;
  weight: number;
  /** Lower is tried first. Default 0. */
  priority: number;
  /** Calls of one proxy replica on this route at once. Absent from a catalog service older than the field. Default null: no limit of its own. */
  concurrencyMax?: number | null;
}

export interface RouteListReply extends Revisioned {
  upstreams: Upstream[];
  models: { id: string; routes: Route[] }[];
}

/** The inference-proxy's alone: it names upstream addresses. Answered as `modelList` is. */
export const routeList = new EveryReplicaEndpoint<RevisionRequest, RouteListReply>(
  'catalog.v1.route.list',
  RevisionRequest,
  'Upstreams and the routes of every enabled model',
);

export class CatalogApplyRequest {
  /** The YAML text of a whole catalog. What it no longer names is disabled, never deleted. */
  @IsString() @Length(1, 1_000_000) yaml!: string;
  /** For error messages: `catalog.yaml`. */
  @IsOptional() @IsString() @Length(1, 500) fileName?: string;
}

export interface CatalogApplyReply {
  revision: number;
  /** False: the catalog already was as the file says, and the revision is the one it had. */
  changed: boolean;
  /** Enabled models and upstreams of the file. */
  models: number;
  upstreams: number;
  /** Absent when nothing was changed, and from a catalog service older than the field. */
  changes?: CatalogChanges;
}

/** What an apply did. What only stands at another place in the file is not named. */
export interface CatalogChanges {
  models: EntryChanges;
  upstreams: EntryChanges;
  /** Models whose price has a next version. */
  repriced: PriceChange[];
}

export interface EntryChanges {
  /** Ids of new ones, and of those that are enabled again. */
  added: string[];
  /** Those that stay what they were, enabled or not, with the fields of the file that differ. */
  changed: { id: string; fields: string[] }[];
  /** Ids of those that were enabled and are no longer. */
  disabled: string[];
}

export interface PriceChange {
  model: string;
  before: CatalogModel['price'];
  after: CatalogModel['price'];
}

/**
 * On invalid input a `ServiceError('invalid_request')` whose message has one line a fault: `catalog.yaml:12: models[0].price: …`;
 * `unavailable` when it could not be stored. Applying the same file again is always safe.
 */
export const catalogApply = new Endpoint<CatalogApplyRequest, CatalogApplyReply>(
  'catalog.v1.catalog.apply',
  CatalogApplyRequest,
  'Makes the catalog equal to a file',
);

/** Published at once by the replica that applied it, and by any that finds a revision it has not heard of: it may come twice. */
export const catalogChanged = new Topic('catalog.v1.event.changed', RevisionChanged, 'The catalog has a new revision');
