import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { Endpoint, EveryReplicaEndpoint, Topic } from './endpoint.js';
import type { ImageStep, PriceStep, PriceTier } from './price-rules.js';
import { REVISION_MAX, RevisionChanged, type Revisioned, RevisionRequest } from './revisions.js';
import type { UpstreamAuth } from './upstream-auth.js';
import type { SecretSource } from './upstream-request.js';

export class EmptyRequest {}

/** A model as the gateway needs it: capabilities and prices, without its routes. */
export interface CatalogModel {
  id: string;
  ownedBy: string;
  /** Name for people. Null: the id. */
  displayName?: string | null;
  /** Unix seconds. */
  created: number;
  contextTokens: number;
  maxOutputTokens: number;
  defaultOutputTokens: number;
  input: ('text' | 'image')[];
  reasoning: boolean;
  tokensPerImageMax: number;
  /** Length of the vectors of a model for embeddings, which writes no replies. Absent or null: the model writes replies. */
  embeddingDimensions?: number | null;
  /** True when a route returns earlier reasoning to the model (`UpstreamCapabilities.reasoningEcho`): it is part of the prompt. */
  reasoningEcho: boolean;
  /** Every change makes a new version. */
  price: ModelPrices & { version: number };
}

/** Prices of a model without their version: pico-USD per token as integer strings. */
export interface ModelPrices {
  inputPicoUsd: string;
  cachedInputPicoUsd: string;
  /** Price of a prompt token that the upstream writes to its cache for 5 minutes. Absent: `inputPicoUsd`. */
  cacheWritePicoUsd?: string;
  /** As `cacheWritePicoUsd`, for an hour. Absent: `cacheWritePicoUsd`. */
  cacheWrite1hPicoUsd?: string;
  outputPicoUsd: string;
  /** Price of a request, besides its tokens. Absent: 0. */
  requestPicoUsd?: string;
  /** Price of an image in a prompt, besides its tokens. Absent: 0. */
  imagePicoUsd?: string;
  /** Other prices from a size of the prompt on. Absent: none. */
  steps?: PriceStep[];
  /** Prices by the tier that the upstream says it served. Absent: none. */
  tiers?: PriceTier[];
  /** Prices of larger images, without their number. Absent: none. */
  imageSteps?: ImageStep[];
}

/** Prices of the accounts that name the plan. */
export interface PricePlan {
  id: string;
  /** Taken off the list price of every model; at most two decimals. */
  discountPercent: string;
  /** Prices of single models, instead of the discount. */
  models: { id: string; price: ModelPrices }[];
}

/** An item of a service, such as a page that it crawls. */
export interface ServiceItem {
  /** `<service>/<item>`, in the place of a model's id: in prices, limits, lists of keys and usage. */
  id: string;
  /** Name for people. Null: the id. */
  displayName: string | null;
  /** Name of one unit, such as `page`. */
  unit: string;
  /** A unit costs the price of a request; the prices of tokens are 0. Every change makes a new version. */
  price: CatalogModel['price'];
}

/** An internal service that bills items of its own. */
export interface CatalogService {
  id: string;
  /** The most that one hold may be. Null: any amount. */
  holdMaxPicoUsd: string | null;
  /** The most that it may spend and hold in a day (UTC), of all accounts. Null: any amount. */
  dayMaxPicoUsd: string | null;
  /** The most holds that it may have open, of all accounts. Null: any number. */
  openHoldsMax: number | null;
}

/** A service with its items. */
export interface OfferedService extends CatalogService {
  items: ServiceItem[];
}

export interface ModelListReply extends Revisioned {
  /** Enabled models, in the order of the file. */
  models: CatalogModel[];
  /** Absent: none. */
  pricePlans?: PricePlan[];
  /** Enabled services with their enabled items, in the order of the file. Absent: none. */
  services?: OfferedService[];
  /**
   * List prices of `models` and items that wait for their time, soonest first, with the version that each will have. A caller uses them from their time
   * on, also when no newer revision reaches it. Absent: none.
   */
  scheduledPrices?: { model: string; price: CatalogModel['price']; effectiveAt: string }[];
}

/**
 * Every replica answers; take the first answer. A replica that cannot read its database answers late, and never with an older revision than
 * it or the caller knows.
 */
export const modelList = new EveryReplicaEndpoint<RevisionRequest, ModelListReply>('catalog.v1.model.list', RevisionRequest, {
  about: 'Enabled models with capabilities and prices',
});

export interface UpstreamCapabilities {
  /** Accepts `stream_options.include_usage`. Default true. */
  streamOptions: boolean;
  /** Accepts `response_format.json_schema`. Default true. */
  jsonSchema: boolean;
  /** Accepts `parallel_tool_calls`, or `disable_parallel_tool_use`. Default true. */
  parallelToolCalls: boolean;
  /** Accepts `strict` on tools. Default true. */
  strictTools: boolean;
  /** Requires the role `developer` instead of `system`. Default false. */
  developerRole: boolean;
  /**
   * Position of system messages that the chat template accepts: `anywhere`, only `first`, or `none`. Elsewhere their text joins the user
   * message. Default `anywhere`.
   */
  systemMessages: 'anywhere' | 'first' | 'none';
  /** Requires user and assistant in strict alternation, user first. Default false. */
  alternatingRoles: boolean;
  /** Requires call ids of exactly nine letters and digits. Default false. */
  nineCharacterCallIds: boolean;
  /**
   * The strongest tool choice that it obeys: `forced` (a call, or a certain tool), `none` (tools that may not be called) or only `auto`. A
   * request that forces a call goes to routes with `forced` alone. Where `none` is not obeyed, such a request goes without its tools. Default
   * `forced`.
   */
  toolChoice?: 'forced' | 'none' | 'auto';
  /** Accepts `temperature`. Default true. */
  temperature?: boolean;
  /** Accepts `top_p`. Default true. */
  topP?: boolean;
  /**
   * Accepts an output cap. Default true. Where false, none is sent, and the proxy ends the reply at the cap (not `anthropic-messages`, which
   * requires one).
   */
  outputCap?: boolean;
  /** Requires `instructions`, with the leading system messages (`openai-responses`). Default false. */
  instructions?: boolean;
  /**
   * Counts tokens of the cache apart from those of the prompt, instead of among them. Default null: true for `anthropic-messages` and
   * `bedrock-converse`, false for the others.
   */
  cachedApart?: boolean | null;
  /**
   * Time for which an upstream that caches what is marked (`anthropic-messages`, `bedrock-converse`) is asked to keep a prompt that a next
   * turn is likely to repeat: markers are sent for 5 minutes or an hour, or not at all. Default `5m`.
   */
  promptCache?: 'off' | '5m' | '1h';
  /**
   * Way in which the upstream keeps the caches of accounts apart: by a field of its dialect, or for dialects that have none, by a line of
   * `text` in prompts that may be cached. Default null: `none` for `openai-chat`, `prompt_cache_key` for
   * `openai-responses`, else `text`.
   */
  cacheKey?: 'none' | 'prompt_cache_key' | 'cache_salt' | 'text' | null;
  /** Accepts `seed`. Default true. */
  seed: boolean;
  /** Accepts `presence_penalty` and `frequency_penalty`. Default true. */
  penalties: boolean;
  /** Accepts `reasoning_effort` (`openai-chat`) or `thinkingLevel` (`gemini`). Default false. */
  reasoningEffort: boolean;
  /**
   * Field that switches reasoning off when the client does (not `anthropic-messages`, where it is never on). Default `none`: such a request
   * goes without one.
   */
  reasoningSwitch?: 'none' | 'reasoning_effort' | 'chat_template_kwargs' | 'thinking';
  /** Name of the output cap: `max_tokens` or `max_completion_tokens`. Default `max_tokens`. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Implements `stop` itself. Default true. Where false, the proxy matches, and reads the reply to its end for its usage. */
  stop: boolean;
  /** Requires earlier `reasoning_content` on assistant turns, or a signature on each call (`gemini`). Default false. */
  reasoningEcho: boolean;
  /** Writes reasoning as `<think>…</think>` inside the text. Default false. */
  thinkTags: boolean;
  /**
   * Begins its text inside the reasoning and writes only `</think>`, because the chat template has written `<think>`. Default false.
   */
  beginsInReasoning?: boolean;
  /** Returns a summary of its reasoning when asked (`openai-responses`, `gemini`). Default false. */
  reasoningSummary: boolean;
  /** The proxy always requests a stream, even for plain requests. Default false. */
  streamPlainRequests: boolean;
  /**
   * Bills output that its replies do not show, such as hidden reasoning. When a client disconnects, the proxy reads on for the usage
   * (`readOnMs`). Default null: true for every kind but `openai-chat`.
   */
  hiddenReasoning?: boolean | null;
  /** Output tokens billed for hidden reasoning when no usage came within `readOnMs`. Default 1,024. */
  hiddenTokensFloor?: number;
  /** Most inputs of one call for embeddings; larger requests are split. Default 2,048. */
  embeddingInputsMax?: number;
  /** Most tokens of one call for embeddings, by the bound of the hold. One input alone may have more. Default 300,000. */
  embeddingTokensMax?: number;
}

export interface UpstreamTimeouts {
  /** To the end of the TCP and TLS handshake. Default 5,000. */
  connectMs: number;
  /** From the request to the first byte of a stream's body. Default 120,000. */
  firstByteMs: number;
  /** Between two bytes of a stream. Default 60,000. */
  idleMs: number;
  /** From the request to the end of a plain reply. Default 600,000, as long as the official SDKs wait. */
  totalMs: number;
  /** Milliseconds to read on after a client has disconnected (`hiddenReasoning`). Default 30,000. */
  readOnMs?: number;
  /**
   * Milliseconds that a reply waits, after its finish, for usage that may follow and for its end. Then it ends as complete, whether or not
   * the upstream closes. Default 2,000.
   */
  finishMs?: number;
}

/** Dialects of upstreams. */
export const UPSTREAM_KINDS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'bedrock-converse'] as const;

type BodyValue = string | number | boolean | null;

export interface Upstream {
  id: string;
  kind: (typeof UPSTREAM_KINDS)[number];
  baseUrl: string;
  /** Name of the variable of the inference-proxy that holds the key. The catalog never has the key. */
  apiKeyEnv: string | null;
  /** File with the key in the proxy's secrets folder, instead of `apiKeyEnv`. A replaced file is used within a second. */
  apiKeyFile?: string | null;
  /** Another proof than a fixed key in the header of the dialect. Default null: `apiKeyEnv` or `apiKeyFile`, or none. */
  auth?: UpstreamAuth | null;
  /** Default null: the public authorities, no client certificate. */
  tls?: UpstreamTls | null;
  /**
   * `off`, or the address of a forward proxy that the settings of the inference-proxy declare. Default null: the
   * forward proxy of the environment, if there is one.
   */
  proxy?: string | null;
  /**
   * Path of calls below `baseUrl`, with `{model}` for the model's name there. Default null: that of the dialect.
   */
  path?: string | null;
  /** Query parameters of calls. Default null: none. */
  query?: Record<string, string> | null;
  /** Headers of calls, probes and health checks besides those of the dialect: a text, or the place of a secret. Default null: none. */
  headers?: Record<string, string | SecretSource> | null;
  /** Fields of the bodies of calls, beside or instead of those of the dialect; null takes one out. Default null: none. */
  body?: Record<string, BodyValue | Record<string, BodyValue>> | null;
  allowPrivateNetwork: boolean;
  capabilities: UpstreamCapabilities;
  timeouts: UpstreamTimeouts;
  /** Open sockets of one proxy replica. Default 256. */
  connectionsMax: number;
  /** Default null: none. */
  healthCheck?: UpstreamHealthCheck | null;
}

/** PEM files in the proxy's secrets folder. A replaced file is used by the next connection. */
export interface UpstreamTls {
  /** Authorities of the upstream, instead of the public ones. */
  caFile?: string | null;
  /** Client certificate with its chain, and its key. */
  certFile?: string | null;
  keyFile?: string | null;
}

/** Health check of an upstream by each proxy replica, besides its traffic. */
export interface UpstreamHealthCheck {
  /** Path from the root of the host, such as `/health`. GET without a key. */
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
  /** Concurrent calls on this route, of all proxy replicas. Default null: no limit. */
  concurrencyMax?: number | null;
  /** Capabilities of the model there, instead of those of the upstream. Default null: none. */
  capabilities?: Partial<UpstreamCapabilities> | null;
  /** Prices that the operator pays the upstream. Routes of a model to one upstream have the same. Default null: not known. */
  cost?: ModelPrices | null;
}

export interface RouteListReply extends Revisioned {
  upstreams: Upstream[];
  /** `embeds`: the model is for embeddings. */
  models: { id: string; embeds?: true; routes: Route[] }[];
}

/** Only the inference-proxy may call it, because it names addresses of upstreams. Answered as `modelList`. */
export const routeList = new EveryReplicaEndpoint<RevisionRequest, RouteListReply>('catalog.v1.route.list', RevisionRequest, {
  about: 'Upstreams and the routes of every enabled model',
});

export class CatalogApplyRequest {
  /** YAML text of a whole catalog. Entries that it no longer names are disabled, never deleted. */
  @IsString() @Length(1, 1_000_000) yaml!: string;
  /** Name for error messages, such as `catalog.yaml`. */
  @IsOptional() @IsString() @Length(1, 500) fileName?: string;
  /** Revision that the text was made from. A change of any other revision is refused with `conflict`. Default: none is expected. */
  @IsOptional() @IsInt() @Min(0) @Max(REVISION_MAX) expectedRevision?: number;
}

export interface CatalogApplyReply {
  revision: number;
  /** False: the catalog was already equal to the file, and the revision is unchanged. */
  changed: boolean;
  /** Enabled models and upstreams in the file. */
  models: number;
  upstreams: number;
  /** Absent when nothing was changed. */
  changes?: CatalogChanges;
}

/** Changes of an apply, without changes of the order alone. */
export interface CatalogChanges {
  models: EntryChanges;
  upstreams: EntryChanges;
  /** Models with a new price version. */
  repriced: PriceChange[];
  /** Absent: no price plan changed. */
  pricePlans?: EntryChanges;
  /** Services whose ceilings changed; their items are among the models. Absent: none. */
  services?: EntryChanges;
}

export interface EntryChanges {
  /** Ids that are new or enabled again. */
  added: string[];
  /** Entries with other changes, and their changed fields. */
  changed: { id: string; fields: string[] }[];
  /** Ids that were enabled before. */
  disabled: string[];
}

export interface PriceChange {
  model: string;
  before: CatalogModel['price'];
  after: CatalogModel['price'];
}

/**
 * Errors: `invalid_request` with one line per fault (`catalog.yaml:12: models[0].price: …`), `conflict` when the current revision is not the
 * expected one or `CATALOG_EDITING` is off, `unavailable` when it could not be stored. Idempotent.
 */
export const catalogApply = new Endpoint<CatalogApplyRequest, CatalogApplyReply>('catalog.v1.catalog.apply', CatalogApplyRequest, {
  about: 'Makes the catalog equal to a file',
  isRecorded: true,
});

/** Published by the replica that applied it, and by any replica that finds an unannounced revision: it may arrive twice. */
export const catalogChanged = new Topic('catalog.v1.event.changed', RevisionChanged, 'The catalog has a new revision');
