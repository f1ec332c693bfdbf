import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { OUTPUT_SOURCES, type OutputSource, PROMPT_SOURCES, type PromptSource, TIER } from '#inference/usage.js';
import { Endpoint, ReplicaEndpoint } from '../endpoint.js';
import { ImageStep, PriceStep, PriceTier } from '../price-rules.js';
import { SERVICE_NAME, TOKENS_MAX } from '../rules/bounds.js';
import { CHILD_DEPTH_MAX } from '../rules/child-path.js';
import { PRICE_STEPS_MAX, PRICE_TIERS_MAX } from '../rules/price-rules.js';
import type { ServiceErrorCode } from '../service-error.js';
import { type Attribution, AttributionOf } from './attribution.js';
import type { BudgetPeriod } from './budgets.js';
import { Id, Nested, NestedList, type Paged, PICO_USD, PRICE, PRICE_PLAN_LENGTH_MAX, Text } from './fields.js';

/** W3C trace context, version 00. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The price stored in a hold: pico-USD per token, request and image as integer strings. */
export class PinnedPrice {
  @IsInt() @Min(1) @Max(2 ** 31 - 1) version!: number;
  @Matches(PRICE) inputPicoUsd!: string;
  @Matches(PRICE) cachedInputPicoUsd!: string;
  /** Price of a token that the upstream writes to its cache for 5 minutes. Absent: `inputPicoUsd`. */
  @IsOptional() @Matches(PRICE) cacheWritePicoUsd?: string;
  /** As `cacheWritePicoUsd`, for an hour. Absent: `cacheWritePicoUsd`. */
  @IsOptional() @Matches(PRICE) cacheWrite1hPicoUsd?: string;
  @Matches(PRICE) outputPicoUsd!: string;
  /** Price of the request, charged if any of its tokens is billed. Absent: 0. */
  @IsOptional() @Matches(PRICE) requestPicoUsd?: string;
  /** Price of each image, charged if any token of the request is billed. Absent: 0. */
  @IsOptional() @Matches(PRICE) imagePicoUsd?: string;
  /** Other prices from a size of the prompt on, by ascending `above`. Absent: none. */
  @IsOptional() @NestedList(() => PriceStep, PRICE_STEPS_MAX) steps?: PriceStep[];
  /** Prices by the tier that the upstream says it served. A tier that is not here has the prices above. Absent: none. */
  @IsOptional() @NestedList(() => PriceTier, PRICE_TIERS_MAX) tiers?: PriceTier[];
  /** Prices of larger images, by ascending `aboveBytes`. Absent: none. */
  @IsOptional() @NestedList(() => ImageStep, PRICE_STEPS_MAX) imageSteps?: ImageStep[];
  /** Images of the prompt, if they have a price, without those of `imageSteps`. Absent: none. */
  @IsOptional() @IsInt() @Min(1) @Max(TOKENS_MAX) images?: number;
  /** The account's price plan that it is of; `version` is that of the list price. Absent: it is the list price. */
  @IsOptional() @Text(PRICE_PLAN_LENGTH_MAX) pricePlan?: string;
}

/** Shortest and longest lease of a hold for an item of a service. */
export const LEASE_BOUNDS_MS = { min: 5_000, max: 3_600_000 } as const;

/** The item of a service that a hold is for, instead of a model; `model` is `<service>/<item>`. Each unit costs the price of a request. */
export class HeldItem {
  /** The service, alone in settling and renewing the hold. */
  @Matches(SERVICE_NAME) service!: string;
  /** The most units that it may use. */
  @IsInt() @Min(1) @Max(TOKENS_MAX) quantityMax!: number;
  /** The most that the service may spend and hold in a day (UTC), of all accounts. Absent: any amount. */
  @IsOptional() @Matches(PICO_USD) dayMaxPicoUsd?: string;
  /** The most open holds of the service, of all accounts. Absent: any number. */
  @IsOptional() @IsInt() @Min(1) @Max(TOKENS_MAX) openHoldsMax?: number;
}

export class ReserveRequest {
  /**
   * UUID v7 made by the caller. A retry with the same id is safe: `held` while the hold is open, `closed` after it; a refusal is decided
   * anew.
   */
  @Id() holdId!: string;
  @Id() keyId!: string;
  @Id() projectId!: string;
  @Id() accountId!: string;
  @Text(128) requestId!: string;
  @Text(256) model!: string;
  /** Maximum cost of the request. */
  @Matches(PICO_USD) amountPicoUsd!: string;
  @Nested(() => PinnedPrice) price!: PinnedPrice;
  /** Estimated tokens of the prompt plus the output cap: what the request counts as towards limits of tokens per minute. Absent: nothing. */
  @IsOptional() @IsInt() @Min(0) @Max(TOKENS_MAX) tokensMax?: number;
  /**
   * The most tokens that the request can use, of its prompt and its output: what it holds of budgets of tokens. Absent: it holds none of them,
   * and they count only what it has used.
   */
  @IsOptional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) amountTokens?: number;
  /** End user, client, session, agent and tags of the request. Absent: none is known. */
  @IsOptional() @AttributionOf() attribution?: Attribution;
  /**
   * The most that the session of `attribution` may cost in each budget of each session or of this one: the session keeps the lowest that its
   * holds have named, for its window. It only lowers a budget, and is refused where there is none. Absent: the limits of the budgets.
   */
  @IsOptional() @Matches(PICO_USD) sessionLimitPicoUsd?: string;
  /**
   * For a `child` of `attribution`: the most that each child key of its chain may cost, the one below the key first, in each budget of child
   * keys. A child key keeps the lowest that its holds have named. It only lowers a budget. Absent: the limits of the budgets.
   */
  @IsOptional() @IsArray() @ArrayMaxSize(CHILD_DEPTH_MAX) @Matches(PICO_USD, { each: true }) childLimitsPicoUsd?: string[];
  /** Absent: the hold is for a request to a model. */
  @IsOptional() @Nested(() => HeldItem) item?: HeldItem;
  /** Length of the lease. Absent: `LEASE_MS` of billing. */
  @IsOptional() @IsInt() @Min(LEASE_BOUNDS_MS.min) @Max(LEASE_BOUNDS_MS.max) leaseMs?: number;
  /** W3C trace context of the caller, if it has one. The trace id is kept; billing's span is below a caller that is sampled. */
  @IsOptional() @Matches(TRACEPARENT) traceparent?: string;
}

/** Requests or tokens per minute of an account, a project or a key, as of one reserve. Of several limits, the one with the least remaining. */
export interface LimitLeft {
  limit: number;
  /** Requests that may be made, or tokens that may be used, at once. */
  remaining: number;
  /** Seconds until `remaining` is `limit` again if no more requests are made. */
  resetSeconds: number;
}

/** The budget that refuses a reserve, as of the refusal. Of several, the one that resets last. */
export interface ExceededBudget {
  budgetId: string;
  /** Null: the budget of the whole account. */
  projectId: string | null;
  /** Null: the budget of the whole project or account. */
  keyId: string | null;
  /** `user`, `client`, `session`, `agent`, `child` or `tag:<name>`, of which `value` has too little left. Absent: the budget counts all requests. */
  dimension?: string;
  value?: string | undefined;
  period: BudgetPeriod;
  /** Absent for a budget of tokens. */
  limitPicoUsd?: string;
  /** Cost of the settled requests of its window, and the most that the running ones may cost. */
  spentPicoUsd?: string;
  heldPicoUsd?: string;
  /** The most that a request may cost now. */
  leftPicoUsd?: string;
  /** Only for a budget of tokens. */
  limitTokens?: number;
  spentTokens?: number;
  heldTokens?: number;
  /** The most tokens that a request may use now. */
  leftTokens?: number;
  /** Null: it never resets. */
  resetsAt: string | null;
}

/** Use of a service by all accounts, and its ceiling that refuses a reserve. */
export interface ServiceCeiling {
  service: string;
  /** `day`: what it spends in a day and holds. `open-holds`: how many holds it has open. */
  by: 'day' | 'open-holds';
  /** Only with `day`, as the next two. */
  dayMaxPicoUsd?: string;
  spentPicoUsd?: string;
  heldPicoUsd?: string;
  /** Only with `open-holds`, as the next one. */
  openHoldsMax?: number;
  openHolds?: number;
}

/** Outcome of a reserve. A failure to decide is a `ServiceError` instead. */
export type ReserveOutcome =
  /**
   * The hold expires `leaseMs` from now unless it is renewed. `requests` is absent when the hold was open before; `tokens` also when no
   * limit counts them.
   */
  | { status: 'held'; holdId: string; leaseMs: number; requests?: LimitLeft; tokens?: LimitLeft }
  /** The hold ended before this reserve arrived, or the id belongs to another hold. Do not start the work. */
  | { status: 'closed'; holdId: string }
  /** The key or child key is revoked, disabled or expired, or no budget lets the key have child keys. */
  | { status: 'refused'; holdId: string; code: 'invalid_api_key' }
  /** The account was frozen by an operator or by a ledger check. */
  | { status: 'refused'; holdId: string; code: 'account_frozen' }
  /** The request has a `sessionLimitPicoUsd`, and no budget of money counts its session. */
  | { status: 'refused'; holdId: string; code: 'no_session_budget' }
  | {
      status: 'refused';
      holdId: string;
      code: 'rate_limit_exceeded' | 'concurrency_limit';
      /** Requests or tokens in any 60 s, or concurrent requests. Of several limits, the one with the longest wait. */
      limit: number;
      retryAfterSeconds: number;
      /** For `rate_limit_exceeded`. */
      requests?: LimitLeft;
      /** For `rate_limit_exceeded` of a request that counts towards a limit of tokens. */
      tokens?: LimitLeft;
      /** The limit is of this key. Absent: of its project or account. */
      keyId?: string;
      /** The limit is of this account: all its projects share it. Absent: of the key or project. */
      accountId?: string;
      /** The limit is of the models of this pattern. Absent: of all models. */
      model?: string;
      /** The limit is of tokens, and the request may use so many. Above `limit` it never fits. Absent: it is of requests. */
      requestedTokens?: number;
    }
  | {
      status: 'refused';
      holdId: string;
      code: 'insufficient_balance';
      requiredPicoUsd: string;
      /** Money of the account. With a `budget` it covers the request. */
      availablePicoUsd: string;
      /** Absent: the account has too little money. */
      budget?: ExceededBudget;
    }
  /** Account and budgets cover the hold, and its service may not have it. */
  | { status: 'refused'; holdId: string; code: 'service_ceiling'; ceiling: ServiceCeiling };

export class TokenUsage {
  /** Includes the next three. */
  @IsInt() @Min(0) @Max(TOKENS_MAX) promptTokens!: number;
  /** Read from the upstream's cache. */
  @IsInt() @Min(0) @Max(TOKENS_MAX) cachedTokens!: number;
  /** Written to the upstream's cache for 5 minutes. Absent: none. */
  @IsOptional() @IsInt() @Min(0) @Max(TOKENS_MAX) cacheWriteTokens?: number;
  /** Written to the upstream's cache for an hour. Absent: none. */
  @IsOptional() @IsInt() @Min(0) @Max(TOKENS_MAX) cacheWrite1hTokens?: number;
  @IsInt() @Min(0) @Max(TOKENS_MAX) outputTokens!: number;
  @IsInt() @Min(0) @Max(TOKENS_MAX) reasoningTokens!: number;
  /** Origin of `promptTokens`. */
  @IsIn(PROMPT_SOURCES) promptSource!: PromptSource;
  /** Origin of `outputTokens`. */
  @IsIn(OUTPUT_SOURCES) outputSource!: OutputSource;
  /** Tier that the upstream says it served. Absent: its usual one. */
  @IsOptional() @Matches(TIER) tier?: string;
  /** Units of an item of a service, which has no tokens. Absent: it is a request of a model. */
  @IsOptional() @IsInt() @Min(0) @Max(TOKENS_MAX) quantity?: number;
}

export type UsageSources = Pick<TokenUsage, 'promptSource' | 'outputSource'>;

/** Sources of counts that the upstream is not known to have reported. */
export const ESTIMATED_SOURCES: Readonly<UsageSources> = { promptSource: 'estimated', outputSource: 'counted' };

/** End of a request, as reported by the service that settles. */
export const SETTLE_REASONS = ['completed', 'failed', 'client-disconnected', 'released'] as const;
/** `lease-expired`: lease and grace ended before a service settled, and the reaper billed the last meter reading. */
export type SettleReason = (typeof SETTLE_REASONS)[number] | 'lease-expired';
/** Every reason that a request can end for. */
export const ALL_SETTLE_REASONS = [...SETTLE_REASONS, 'lease-expired'] as const satisfies readonly SettleReason[];

/** The services that settle: the gateway, or the inference-proxy when the client or the gateway is gone. */
const SETTLERS = ['gateway', 'inference-proxy'] as const;
export type Settler = (typeof SETTLERS)[number];

export class SettleRequest {
  @Id() holdId!: string;
  @Id() accountId!: string;
  @IsIn(SETTLE_REASONS) reason!: (typeof SETTLE_REASONS)[number];
  /** Absent: nothing is billed. */
  @IsOptional() @Nested(() => TokenUsage) usage?: TokenUsage;
  @IsOptional() @Text(256) upstream?: string;
  /** The service that settles. Absent: a release, or a service that this version does not know. */
  @IsOptional()
  @IsIn(SETTLERS)
  @Transform(({ value }) => (SETTLERS.includes(value) ? value : undefined))
  settledBy?: Settler;
  /** The service whose item it is: a hold of another one, or of a model, is `unknown`. Absent: any hold. */
  @IsOptional() @Matches(SERVICE_NAME) service?: string;
  /** W3C trace context of a sampled caller: billing's span is below it. */
  @IsOptional() @Matches(TRACEPARENT) traceparent?: string;
}

export interface SettleOutcome {
  /**
   * `already`: settled before; the cost is the recorded one. `unknown`: this account has no such open hold. If no hold has the id, a
   * tombstone refuses a later reserve.
   */
  status: 'settled' | 'already' | 'unknown';
  holdId: string;
  costPicoUsd: string;
}

export class HoldApplyRequest {
  @NestedList(() => SettleRequest, 512) settles!: SettleRequest[];
  @NestedList(() => ReserveRequest, 512) reserves!: ReserveRequest[];
  /** True: an item that cannot be decided gets the outcome `failed`. Absent: it fails the whole message, which may be sent again. */
  @IsOptional() @IsBoolean() partial?: boolean;
}

/** Item of a `partial` message that billing could not decide. It may be sent again. */
export interface FailedItem {
  status: 'failed';
  holdId: string;
  code: ServiceErrorCode;
  message: string;
}

/** Outcomes are in the order of the request. */
export interface HoldApplyReply {
  settles: (SettleOutcome | FailedItem)[];
  reserves: (ReserveOutcome | FailedItem)[];
}

export const holdApply = new ReplicaEndpoint<HoldApplyRequest, HoldApplyReply>('billing.v1.hold.apply', HoldApplyRequest, {
  about: 'Settles, then reserves, several requests in one message',
  isRepeatable: true,
});

export const holdReserve = new Endpoint<ReserveRequest, ReserveOutcome>('billing.v1.hold.reserve', ReserveRequest, {
  about: 'Holds the maximum cost of a request, or refuses',
  isRepeatable: true,
});

export const holdSettle = new Endpoint<SettleRequest, SettleOutcome>('billing.v1.hold.settle', SettleRequest, {
  about: 'Ends a hold and charges the usage',
  isRepeatable: true,
});

export class HoldReleaseRequest {
  @Id() holdId!: string;
  @Id() accountId!: string;
}

export const holdRelease = new Endpoint<HoldReleaseRequest, SettleOutcome>('billing.v1.hold.release', HoldReleaseRequest, {
  about: 'Ends a hold and charges nothing',
  isRepeatable: true,
});

export class HoldRenewal {
  @Id() holdId!: string;
  /** Increases with every reading; an older one is ignored. */
  @IsInt() @Min(1) @Max(2 ** 31 - 1) sequence!: number;
  /** Usage so far, billed if the reaper ends the hold, after lease and grace. */
  @Nested(() => TokenUsage) usage!: TokenUsage;
  /** The service whose item it is: any other hold is not renewed. Absent: any hold. */
  @IsOptional() @Matches(SERVICE_NAME) service?: string;
  /** Only with `service`: length of the lease. Absent: `LEASE_MS` of billing. */
  @IsOptional() @IsInt() @Min(LEASE_BOUNDS_MS.min) @Max(LEASE_BOUNDS_MS.max) leaseMs?: number;
}

export class HoldRenewRequest {
  @NestedList(() => HoldRenewal, 4096) renewals!: HoldRenewal[];
  /** Ids of ended requests, to learn which of them no service has settled. */
  @IsOptional() @IsArray() @ArrayMaxSize(8192) @Id({ each: true }) ended?: string[];
}

export interface HoldRenewReply {
  /** Holds whose lease now ends `leaseMs` from now. Stop the work of the others: they are no longer open. */
  renewed: string[];
  /** Holds of `renewed` whose key, project or account may no longer call: stop their work and settle what was used. Absent: none. */
  stop?: string[];
  /** Holds of `ended` that no service has settled: still open, or settled only by the reaper. Absent: none. */
  unsettled?: string[];
  leaseMs: number;
}

export const holdRenew = new Endpoint<HoldRenewRequest, HoldRenewReply>('billing.v1.hold.renew', HoldRenewRequest, {
  about: 'Extends leases and stores meter readings; returns which requests must stop, and which ended ones are not settled',
  isRepeatable: true,
});

export class HoldListRequest {
  @IsOptional() @Id() accountId?: string;
  /** Rows on one page. Default 1,000. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same account. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export interface OpenHold {
  holdId: string;
  requestId: string;
  accountId: string;
  projectId: string;
  model: string;
  amountPicoUsd: string;
  createdAt: string;
  leaseUntil: string;
}

export interface HoldListReply extends Paged {
  holds: OpenHold[];
}

export const holdList = new Endpoint<HoldListRequest, HoldListReply>('billing.v1.hold.list', HoldListRequest, {
  about: 'Open holds, oldest first',
});
