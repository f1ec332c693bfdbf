import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { OUTPUT_SOURCES, type OutputSource, PROMPT_SOURCES, type PromptSource } from '#inference/usage.js';
import { Endpoint } from '../endpoint.js';
import type { ServiceErrorCode } from '../service-error.js';
import { Id, Nested, NestedList, PICO_USD, Text, TOKEN_PRICE, TOKENS_MAX } from './fields.js';

/** The price a hold is pinned to: pico-USD per token as integer strings. */
export class PinnedPrice {
  @IsInt() @Min(1) @Max(2 ** 31 - 1) version!: number;
  @Matches(TOKEN_PRICE) inputPicoUsd!: string;
  @Matches(TOKEN_PRICE) cachedInputPicoUsd!: string;
  @Matches(TOKEN_PRICE) outputPicoUsd!: string;
}

export class ReserveRequest {
  /** UUID v7 made by the caller: retrying with the same id is safe and answered with the recorded outcome. */
  @Id() holdId!: string;
  @Id() keyId!: string;
  @Id() projectId!: string;
  @Id() accountId!: string;
  @Text(128) requestId!: string;
  @Text(256) model!: string;
  /** The most the request can cost. */
  @Matches(PICO_USD) amountPicoUsd!: string;
  @Nested(() => PinnedPrice) price!: PinnedPrice;
}

/** Why a reserve was refused. `internal_error` never appears here: a failure to decide is a `ServiceError`. */
export type ReserveOutcome =
  /** `leaseMs` from now the hold is reaped unless renewed. */
  | { status: 'held'; holdId: string; leaseMs: number }
  /** The hold ended before this reserve arrived (released or settled), or its id is another's hold: do not start the work. */
  | { status: 'closed'; holdId: string }
  | { status: 'refused'; holdId: string; code: 'invalid_api_key' }
  /** An operator or the check of the ledger has stopped the account (docs/money.md). */
  | { status: 'refused'; holdId: string; code: 'account_frozen' }
  | {
      status: 'refused';
      holdId: string;
      code: 'rate_limit_exceeded' | 'concurrency_limit';
      /** The limit that was hit: requests in any 60 s, or requests at once. */
      limit: number;
      retryAfterSeconds: number;
    }
  | { status: 'refused'; holdId: string; code: 'insufficient_balance'; requiredPicoUsd: string; availablePicoUsd: string };

export class TokenUsage {
  @IsInt() @Min(0) @Max(TOKENS_MAX) promptTokens!: number;
  @IsInt() @Min(0) @Max(TOKENS_MAX) cachedTokens!: number;
  @IsInt() @Min(0) @Max(TOKENS_MAX) outputTokens!: number;
  @IsInt() @Min(0) @Max(TOKENS_MAX) reasoningTokens!: number;
  /** Origin of `promptTokens`. */
  @IsIn(PROMPT_SOURCES) @Transform(sourceOf('promptSource')) promptSource!: PromptSource;
  /** Origin of `outputTokens`. */
  @IsIn(OUTPUT_SOURCES) @Transform(sourceOf('outputSource')) outputSource!: OutputSource;
}

export type UsageSources = Pick<TokenUsage, 'promptSource' | 'outputSource'>;

/** Sources of counts that the upstream is not known to have reported. */
export const ESTIMATED_SOURCES: Readonly<UsageSources> = { promptSource: 'estimated', outputSource: 'counted' };

/** Returns the two sources that the field `source` stood for before each count had its own. Rows of that time keep it. */
export function sourcesOfFormer(source: unknown): UsageSources | undefined {
  if (source === 'reported') return { promptSource: 'reported', outputSource: 'reported' };
  return source === 'estimated' ? ESTIMATED_SOURCES : undefined;
}

/** Reads `source` of a gateway or inference-proxy of the version before the two fields. */
function sourceOf(field: keyof UsageSources) {
  return ({ value, obj }: { value: unknown; obj: Record<string, unknown> }): unknown =>
    obj.promptSource === undefined && obj.outputSource === undefined ? sourcesOfFormer(obj.source)?.[field] : value;
}

/** How a request ended, as those say who had to do with it. */
export const SETTLE_REASONS = ['completed', 'failed', 'client-disconnected', 'released'] as const;
/** `lease-expired` is the reaper's alone: nobody said how. */
export type SettleReason = (typeof SETTLE_REASONS)[number] | 'lease-expired';

/** Maps `client-left`, which services of the version before send and store, to `client-disconnected`. Goes with the next version. */
export function currentReason(reason: unknown): unknown {
  return reason === 'client-left' ? 'client-disconnected' : reason;
}

/** The services that settle: the gateway, or the inference-proxy after the client or the gateway is gone. */
export const SETTLERS = ['gateway', 'inference-proxy'] as const;
export type Settler = (typeof SETTLERS)[number];

export class SettleRequest {
  @Id() holdId!: string;
  @Id() accountId!: string;
  @IsIn(SETTLE_REASONS) @Transform(({ value }) => currentReason(value)) reason!: (typeof SETTLE_REASONS)[number];
  /** Absent: nothing is billed. */
  @IsOptional() @Nested(() => TokenUsage) usage?: TokenUsage;
  @IsOptional() @Text(256) upstream?: string;
  /** The service that settles. Absent: a release, or a service that this version does not know. */
  @IsOptional()
  @IsIn(SETTLERS)
  @Transform(({ value }) => (SETTLERS.includes(value) ? value : undefined))
  settledBy?: Settler;
}

export interface SettleOutcome {
  /** `already`: settled before, here is what was recorded. `unknown`: no such hold was ever made; a tombstone keeps it so. */
  status: 'settled' | 'already' | 'unknown';
  holdId: string;
  costPicoUsd: string;
}

export class HoldApplyRequest {
  @NestedList(() => SettleRequest, 512) settles!: SettleRequest[];
  @NestedList(() => ReserveRequest, 512) reserves!: ReserveRequest[];
  /** True: an item that cannot be decided is answered with `failed`. Absent: it fails the whole message, which may be sent again. */
  @IsOptional() @IsBoolean() partial?: boolean;
}

/** Billing could not decide this item of a `partial` message: nothing is known of it, and it may be sent again. */
export interface FailedItem {
  status: 'failed';
  holdId: string;
  code: ServiceErrorCode;
  message: string;
}

/** Outcomes stand in the order of the request. */
export interface HoldApplyReply {
  settles: (SettleOutcome | FailedItem)[];
  reserves: (ReserveOutcome | FailedItem)[];
}

export const holdApply = new Endpoint<HoldApplyRequest, HoldApplyReply>(
  'billing.v1.hold.apply',
  HoldApplyRequest,
  'Settles, then reserves, several requests in one message',
);

export const holdReserve = new Endpoint<ReserveRequest, ReserveOutcome>(
  'billing.v1.hold.reserve',
  ReserveRequest,
  'Holds the most a request can cost, or says why not',
);

export const holdSettle = new Endpoint<SettleRequest, SettleOutcome>(
  'billing.v1.hold.settle',
  SettleRequest,
  'Ends a hold and charges what was used',
);

export class HoldReleaseRequest {
  @Id() holdId!: string;
  @Id() accountId!: string;
}

export const holdRelease = new Endpoint<HoldReleaseRequest, SettleOutcome>(
  'billing.v1.hold.release',
  HoldReleaseRequest,
  'Ends a hold and charges nothing',
);

export class HoldRenewal {
  @Id() holdId!: string;
  /** Increases with every reading; an older one is ignored. */
  @IsInt() @Min(1) @Max(2 ** 31 - 1) sequence!: number;
  /** What has been used so far: billed if nobody is left to settle. */
  @Nested(() => TokenUsage) usage!: TokenUsage;
}

export class HoldRenewRequest {
  @NestedList(() => HoldRenewal, 4096) renewals!: HoldRenewal[];
  /** Holds whose work has ended, to learn which of them nobody has settled. */
  @IsOptional() @IsArray() @ArrayMaxSize(8192) @Id({ each: true }) ended?: string[];
}

export interface HoldRenewReply {
  /** Ids whose lease now runs `leaseMs` from now. Ids missing here are no longer open: stop their work. */
  renewed: string[];
  /** Those of `renewed` whose key, project or account may not call any more: stop their work, and settle what it has used. Absent: none. */
  stop?: string[];
  /** Those of `ended` that nobody has settled: still open, or ended by the reaper alone. Absent: none. */
  unsettled?: string[];
  leaseMs: number;
}

export const holdRenew = new Endpoint<HoldRenewRequest, HoldRenewReply>(
  'billing.v1.hold.renew',
  HoldRenewRequest,
  'Extends leases, with a meter reading each; tells which are to stop, and which of the ended are not settled',
);

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

export interface HoldListReply {
  holds: OpenHold[];
  /** Null: this was the last page. */
  nextCursor: string | null;
}

export const holdList = new Endpoint<HoldListRequest, HoldListReply>('billing.v1.hold.list', HoldListRequest, 'Open holds, oldest first');
