import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { Endpoint, Topic } from './endpoint.js';

const PICO_USD = /^\d{1,38}$/;
const USD = /^\d{1,15}(\.\d{1,12})?$/;
const SHA256_HEX = /^[0-9a-f]{64}$/;
const TOKENS_MAX = 2 ** 31 - 1;

// ---- keys -----------------------------------------------------------------------------------------------------------

export class KeyResolveRequest {
  /** Hex SHA-256 of the whole API key. The key itself never leaves the gateway. */
  @Matches(SHA256_HEX) keyDigest!: string;
}

export interface ResolvedKey {
  keyId: string;
  projectId: string;
  accountId: string;
}

/** Replies `invalid_api_key` when the key is unknown, revoked, or its project is disabled. */
export const keyResolve = new Endpoint<KeyResolveRequest, ResolvedKey>(
  'billing.v1.key.resolve',
  KeyResolveRequest,
  'Which project and account an API key belongs to',
);

// ---- holds ----------------------------------------------------------------------------------------------------------

/** Pico-USD a token as integer strings; the price a hold is pinned to. */
export class PinnedPrice {
  @IsInt() @Min(1) version!: number;
  @Matches(PICO_USD) inputPicoUsd!: string;
  @Matches(PICO_USD) cachedInputPicoUsd!: string;
  @Matches(PICO_USD) outputPicoUsd!: string;
}

export class ReserveRequest {
  /** UUID v7 made by the caller: retrying with the same id is safe and answered with the recorded outcome. */
  @IsUUID() holdId!: string;
  @IsUUID() keyId!: string;
  @IsUUID() projectId!: string;
  @IsUUID() accountId!: string;
  @IsString() @Length(1, 128) requestId!: string;
  @IsString() @Length(1, 256) model!: string;
  /** The most the request can cost. */
  @Matches(PICO_USD) amountPicoUsd!: string;
  @ValidateNested() @Type(() => PinnedPrice) price!: PinnedPrice;
}

/** Why a reserve was refused. `internal_error` never appears here: a failure to decide is a `ServiceError`. */
export type ReserveOutcome =
  /** `leaseMs` from now the hold is reaped unless renewed. */
  | { status: 'held'; holdId: string; leaseMs: number }
  /** The hold ended before this reserve arrived (released or settled): do not start the work. */
  | { status: 'closed'; holdId: string }
  | { status: 'refused'; holdId: string; code: 'invalid_api_key' }
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
  @IsIn(['reported', 'estimated']) source!: 'reported' | 'estimated';
}

/** How a request ended. `lease-expired` is the reaper's alone. */
export const SETTLE_REASONS = ['completed', 'failed', 'client-left', 'released', 'lease-expired'] as const;
export type SettleReason = (typeof SETTLE_REASONS)[number];

export class SettleRequest {
  @IsUUID() holdId!: string;
  @IsUUID() accountId!: string;
  @IsIn(SETTLE_REASONS) reason!: SettleReason;
  /** Absent: nothing is billed. */
  @IsOptional() @ValidateNested() @Type(() => TokenUsage) usage?: TokenUsage;
  @IsOptional() @IsString() @Length(1, 256) upstream?: string;
}

export interface SettleOutcome {
  /** `already`: settled before, here is what was recorded. `unknown`: no such hold was ever made; a tombstone keeps it so. */
  status: 'settled' | 'already' | 'unknown';
  holdId: string;
  costPicoUsd: string;
}

export class HoldApplyRequest {
  @IsArray() @ArrayMaxSize(512) @ValidateNested({ each: true }) @Type(() => SettleRequest) settles!: SettleRequest[];
  @IsArray() @ArrayMaxSize(512) @ValidateNested({ each: true }) @Type(() => ReserveRequest) reserves!: ReserveRequest[];
}

/** Outcomes stand in the order of the request. */
export interface HoldApplyReply {
  settles: SettleOutcome[];
  reserves: ReserveOutcome[];
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
  @IsUUID() holdId!: string;
  @IsUUID() accountId!: string;
}

export const holdRelease = new Endpoint<HoldReleaseRequest, SettleOutcome>(
  'billing.v1.hold.release',
  HoldReleaseRequest,
  'Ends a hold and charges nothing',
);

export class HoldRenewal {
  @IsUUID() holdId!: string;
  /** Increases with every reading; an older one is ignored. */
  @IsInt() @Min(1) sequence!: number;
  /** What has been used so far: billed if nobody is left to settle. */
  @ValidateNested() @Type(() => TokenUsage) usage!: TokenUsage;
}

export class HoldRenewRequest {
  @IsArray() @ArrayMaxSize(4096) @ValidateNested({ each: true }) @Type(() => HoldRenewal) renewals!: HoldRenewal[];
}

export interface HoldRenewReply {
  /** Ids whose lease now runs `leaseMs` from now. Ids missing here are no longer open: stop their work. */
  renewed: string[];
  leaseMs: number;
}

export const holdRenew = new Endpoint<HoldRenewRequest, HoldRenewReply>(
  'billing.v1.hold.renew',
  HoldRenewRequest,
  'Extends leases, with a meter reading each',
);

export class HoldListRequest {
  @IsOptional() @IsUUID() accountId?: string;
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

export const holdList = new Endpoint<HoldListRequest, { holds: OpenHold[] }>(
  'billing.v1.hold.list',
  HoldListRequest,
  'Open holds, oldest first',
);

export class RequestShowRequest {
  @IsString() @Length(1, 128) requestId!: string;
}

/** Everything billing knows of one request. `settlement` is null while it runs. Amounts are integer strings of pico-USD. */
export interface BilledRequest {
  requestId: string;
  holdId: string;
  accountId: string;
  projectId: string;
  keyId: string;
  model: string;
  upstream: string | null;
  heldPicoUsd: string;
  price: PinnedPrice;
  settlement: { reason: SettleReason; usage: TokenUsage; costPicoUsd: string; settledAt: string } | null;
}

export const requestShow = new Endpoint<RequestShowRequest, BilledRequest>(
  'billing.v1.request.show',
  RequestShowRequest,
  'Hold, price, usage and settlement of one request',
);

// ---- balance --------------------------------------------------------------------------------------------------------

export class BalanceGetRequest {
  @IsUUID() accountId!: string;
}

/** Spec 2.2, field for field, and `expiredHeld`: what open holds may still use of ended grants. */
export interface Balance {
  object: 'balance';
  currency: 'USD';
  balance_pico_usd: string;
  balance_usd: string;
  reserved_pico_usd: string;
  available_pico_usd: string;
  topup_balance_pico_usd: string;
  plan_balance_pico_usd: string;
  plan_expires_at: string | null;
}

export const balanceGet = new Endpoint<BalanceGetRequest, Balance & { expiredHeld: string }>(
  'billing.v1.balance.get',
  BalanceGetRequest,
  'What an account has, holds and can spend, exact at this moment',
);

// ---- administration: the CLI's user alone ---------------------------------------------------------------------------

export class AccountCreateRequest {
  @IsOptional() @IsUUID() accountId?: string;
  @IsString() @Length(1, 200) name!: string;
}

export interface Account {
  accountId: string;
  name: string;
  status: 'active' | 'frozen';
  createdAt: string;
}

export const accountCreate = new Endpoint<AccountCreateRequest, Account>(
  'billing.v1.account.create',
  AccountCreateRequest,
  'Opens an account',
);

export class ListRequest {
  @IsOptional() @IsUUID() accountId?: string;
  @IsOptional() @IsUUID() projectId?: string;
}

export const accountList = new Endpoint<ListRequest, { accounts: Account[] }>('billing.v1.account.list', ListRequest, 'All accounts');

export class ProjectCreateRequest {
  @IsUUID() accountId!: string;
  @IsString() @Length(1, 200) name!: string;
  @IsOptional() @IsInt() @Min(1) @Max(1_000_000) requestsPerMinuteMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(100_000) concurrencyMax?: number;
}

export interface Project {
  projectId: string;
  accountId: string;
  name: string;
  enabled: boolean;
  requestsPerMinuteMax: number;
  concurrencyMax: number;
  createdAt: string;
}

export const projectCreate = new Endpoint<ProjectCreateRequest, Project>(
  'billing.v1.project.create',
  ProjectCreateRequest,
  'Adds a project to an account',
);

export class ProjectUpdateRequest {
  @IsUUID() projectId!: string;
  @IsOptional() @IsString() @Length(1, 200) name?: string;
  @IsOptional() @IsBoolean() enabled?: boolean;
  @IsOptional() @IsInt() @Min(1) @Max(1_000_000) requestsPerMinuteMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(100_000) concurrencyMax?: number;
}

export const projectUpdate = new Endpoint<ProjectUpdateRequest, Project>(
  'billing.v1.project.update',
  ProjectUpdateRequest,
  'Changes limits, name or state',
);

export const projectList = new Endpoint<ListRequest, { projects: Project[] }>(
  'billing.v1.project.list',
  ListRequest,
  'Projects, of one account or all',
);

export class KeyCreateRequest {
  @IsUUID() projectId!: string;
  @IsOptional() @IsString() @Length(1, 200) name?: string;
}

export interface ApiKey {
  keyId: string;
  projectId: string;
  name: string | null;
  /** The last four characters; the whole key is shown once, when it is made. */
  lastFour: string;
  createdAt: string;
  revokedAt: string | null;
}

export const keyCreate = new Endpoint<KeyCreateRequest, ApiKey & { key: string }>(
  'billing.v1.key.create',
  KeyCreateRequest,
  'Makes an API key and shows it once',
);

export class KeyRevokeRequest {
  @IsUUID() keyId!: string;
}

export const keyRevoke = new Endpoint<KeyRevokeRequest, ApiKey>('billing.v1.key.revoke', KeyRevokeRequest, 'Ends an API key for good');

export const keyList = new Endpoint<ListRequest, { keys: ApiKey[] }>('billing.v1.key.list', ListRequest, 'Keys, of one project or all');

export class TopupCreateRequest {
  @IsUUID() accountId!: string;
  /** Dollars as a decimal string, `"25.00"`. */
  @Matches(USD) usd!: string;
  /** The payment's own id: the same id is credited once. */
  @IsString() @Length(1, 200) paymentId!: string;
}

export interface TopupCreateReply {
  accountId: string;
  /** False: this payment was credited before. */
  credited: boolean;
  topupBalancePicoUsd: string;
}

export const topupCreate = new Endpoint<TopupCreateRequest, TopupCreateReply>(
  'billing.v1.topup.create',
  TopupCreateRequest,
  'Credits a payment, once',
);

export class PlanGrantRequest {
  @IsUUID() accountId!: string;
  @Matches(USD) usd!: string;
  @IsISO8601() expiresAt!: string;
  /** Names the grant, so that repeating it changes nothing. Absent: always a new grant. */
  @IsOptional() @IsString() @Length(1, 200) grantKey?: string;
}

export interface PlanGrantReply {
  accountId: string;
  grantId: string;
  /** False: this grant was made before. */
  granted: boolean;
  planBalancePicoUsd: string;
  expiresAt: string;
}

export const planGrant = new Endpoint<PlanGrantRequest, PlanGrantReply>(
  'billing.v1.plan.grant',
  PlanGrantRequest,
  'Replaces the plan balance by a new grant',
);

// ---- events ---------------------------------------------------------------------------------------------------------

/** Keys whose cached resolution must be forgotten: one key, or every key of a project. */
export const keyChanged = new Topic<{ keyId?: string; projectId: string }>(
  'billing.v1.event.key-changed',
  'A key was revoked or its project changed',
);
