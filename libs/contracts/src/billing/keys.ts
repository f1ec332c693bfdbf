import { IsBoolean, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import {
  CONCURRENCY_MAX,
  MODEL_LIMITS_MAX,
  NAME_LENGTH_MAX,
  NOTE_LENGTH_MAX,
  REQUESTS_PER_MINUTE_MAX,
  TOKENS_MAX,
} from '../rules/bounds.js';
import { ListRequest, type NextPricePlan } from './accounts.js';
import { Clearable, Id, Instant, ModelPatterns, NestedList, Networks, type Paged, Text } from './fields.js';
import { ModelLimit, type OperatorLimits } from './model-limits.js';
import type { ProjectPolicy } from './project-policy.js';

const SHA256_HEX = /^[0-9a-f]{64}$/;

export class KeyResolveRequest {
  /** Hex SHA-256 of the whole API key. The key itself never leaves the gateway. */
  @Matches(SHA256_HEX) keyDigest!: string;
}

export interface ResolvedKey {
  keyId: string;
  projectId: string;
  accountId: string;
  /** Milliseconds until the key expires, by the database's clock. Absent: it has no end. */
  validForMs?: number;
  /** Patterns of the models that the key may use, in which `*` stands for any characters. Absent: all models. */
  models?: string[];
  /** Addresses and networks of the clients that may use the key. Absent: any. */
  networks?: string[];
  /** Names of `metadata` pairs that its project uses as tags. Absent: none. */
  tags?: string[];
  /** Bounds of its child keys. Absent: no budget lets it have any. */
  delegation?: Delegation;
  /** The policy that its project asks before a hold. Absent: none. */
  policy?: ProjectPolicy;
  /** Price plan of its account. Absent: list prices. */
  pricePlan?: string;
  /** Replaces `pricePlan` for the requests that begin at its time or later. Absent: nothing does. */
  nextPricePlan?: NextPricePlan;
}

/** A key may have child keys when a budget of money counts each `child` of it. */
export interface Delegation {
  /** The key that signs its child keys, 32 bytes in base64. It changes with the budget that was set first, so that its child keys end with it. */
  signingKey: string;
  /** The lowest limit of those budgets: the most that a child key may cost. */
  limitPicoUsd: string;
  /** Child keys that were revoked before their end. Absent: none. */
  revoked?: string[];
}

/** Replies `invalid_api_key` when the key is unknown or not active, or its project is disabled. */
export const keyResolve = new Endpoint<KeyResolveRequest, ResolvedKey>('billing.v1.key.resolve', KeyResolveRequest, {
  about: 'Returns the project and account of an API key',
  isRepeatable: true,
});

export class KeyFindRequest {
  @Id() keyId!: string;
}

/** As `keyResolve`, for a key that a service names by its id. */
export const keyFind = new Endpoint<KeyFindRequest, ResolvedKey>('billing.v1.key.find', KeyFindRequest, {
  about: 'Returns the project and account of a key by its id',
  isRepeatable: true,
});

export class KeyCreateRequest {
  /** Repeating it with the same id is a `conflict`, because the key is shown once. Default: a new id. */
  @IsOptional() @Id() keyId?: string;
  @Id() projectId!: string;
  @IsOptional() @Text(NAME_LENGTH_MAX) name?: string;
  @IsOptional() @Text(NOTE_LENGTH_MAX) note?: string;
  /** A moment ahead, from which on the key is refused. Default: no end. */
  @IsOptional() @Instant() expiresAt?: string;
  /** Patterns such as `gpt-*` of the models that the key may use. Default: all models. */
  @IsOptional() @ModelPatterns() models?: string[];
  /** Addresses and networks of the clients that may use the key. Default: any. */
  @IsOptional() @Networks() networks?: string[];
  /** Limits of the key, beside those of its project. Default: none. */
  @IsOptional() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number;
  /** Limits by model. Default: none. */
  @IsOptional() @NestedList(() => ModelLimit, MODEL_LIMITS_MAX) modelLimits?: ModelLimit[];
}

export interface ApiKey {
  keyId: string;
  /** First key of the rotations that made this one, with which it shares limits and budgets. Its own id if none did. */
  rootKeyId: string;
  projectId: string;
  name: string | null;
  note: string | null;
  /** The last four characters. The whole key is shown once, when it is made. */
  lastFour: string;
  createdAt: string;
  /** The person or program that made it: a name, or else an actor of the audit journal. Null: not known. */
  createdBy: string | null;
  /** Moment from which on the key is refused. Null: it has no end. */
  expiresAt: string | null;
  /** True: the key is refused until it is enabled again. */
  disabled: boolean;
  /** Patterns of the models that the key may use. Empty: all models. */
  models: string[];
  /** Addresses and networks of the clients that may use the key. Empty: any. */
  networks: string[];
  /** Limits of the key, beside those of its project. Null: none. */
  requestsPerMinuteMax: number | null;
  concurrencyMax: number | null;
  tokensPerMinuteMax: number | null;
  /** Limits by model. Absent: none. */
  modelLimits?: ModelLimit[];
  /** The most that the operator allows of the limits. Absent: they are all the operator's, and a customer may lower them. */
  operatorLimits?: OperatorLimits;
  /** Key that a rotation made in its place. */
  replacedBy: string | null;
  revokedAt: string | null;
  /** Source of the tenants file that owns it: the next apply takes back other changes. Absent: none does. */
  managedBy?: string;
}

export interface CreatedKey extends ApiKey {
  /** The whole key, shown once. */
  key: string;
}

/** Replies `conflict` when the account has as many active keys as it may: those that are neither revoked nor expired. */
export const keyCreate = new Endpoint<KeyCreateRequest, CreatedKey>('billing.v1.key.create', KeyCreateRequest, {
  about: 'Makes an API key and shows it once',
  isRecorded: true,
});

export class KeyUpdateRequest {
  @Id() keyId!: string;
  @Clearable() @Text(NAME_LENGTH_MAX) name?: string | null;
  @Clearable() @Text(NOTE_LENGTH_MAX) note?: string | null;
  @IsOptional() @IsBoolean() disabled?: boolean;
  /** A moment ahead. */
  @Clearable() @Instant() expiresAt?: string | null;
  /** An empty list allows all models. */
  @IsOptional() @ModelPatterns() models?: string[];
  /** An empty list allows any client. */
  @IsOptional() @Networks() networks?: string[];
  @Clearable() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(CONCURRENCY_MAX) concurrencyMax?: number | null;
  @Clearable() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number | null;
  /** Replaces the limits by model. Empty: none. */
  @IsOptional() @NestedList(() => ModelLimit, MODEL_LIMITS_MAX) modelLimits?: ModelLimit[];
}

/**
 * Null clears a field. Replies `conflict` when the key is revoked, or was replaced and would have no end or a later one, or would be active
 * again in an account with as many active keys as it may have. Replies `permission_denied` for a limit above the operator's, when a customer
 * sets it.
 */
export const keyUpdate = new Endpoint<KeyUpdateRequest, ApiKey>('billing.v1.key.update', KeyUpdateRequest, {
  about: 'Changes name, note, end, state, models, networks or limits of an API key',
  isRecorded: true,
});

/** Longest grace of a rotation: 30 days. */
export const GRACE_SECONDS_MAX = 2_592_000;

export class KeyRotateRequest {
  @Id() keyId!: string;
  /** Id of the new key. Repeating it is a `conflict`, because the key is shown once. Default: a new id. */
  @IsOptional() @Id() newKeyId?: string;
  /** Seconds that the old key works on; it never ends later than before. */
  @IsInt() @Min(0) @Max(GRACE_SECONDS_MAX) graceSeconds!: number;
  /** End of the new key: a moment ahead, or null for none. Default: the end that the old key had. */
  @Clearable() @Instant() expiresAt?: string | null;
}

export interface RotatedKey extends CreatedKey {
  /** The old key. It is refused from its `expiresAt` on. */
  replaced: ApiKey;
}

/**
 * Replies `conflict` when the key is not active or was replaced before, and for a grace when the account has as many active keys as it may:
 * both are active meanwhile.
 */
export const keyRotate = new Endpoint<KeyRotateRequest, RotatedKey>('billing.v1.key.rotate', KeyRotateRequest, {
  about: 'Replaces an API key by a new one, which is shown once, and ends the old one after a grace',
  isRecorded: true,
});

export class KeyRevokeRequest {
  @Id() keyId!: string;
}

export const keyRevoke = new Endpoint<KeyRevokeRequest, ApiKey>('billing.v1.key.revoke', KeyRevokeRequest, {
  about: 'Revokes an API key permanently',
  isRecorded: true,
});

/** Requests may use an `active` key. Any other is refused with `invalid_api_key`. */
export type KeyStatus = 'active' | 'disabled' | 'expired' | 'revoked';

export interface KeyRow extends ApiKey {
  status: KeyStatus;
  /** End of the key's newest request. Null: none has ended. */
  lastUsedAt: string | null;
}

export class KeyListRequest extends ListRequest {
  /** Only this key. */
  @IsOptional() @Id() keyId?: string;
  /** Only active keys that end before this moment. */
  @IsOptional() @Instant() endsBefore?: string;
}

export interface KeyListReply extends Paged {
  keys: KeyRow[];
}

export const keyList = new Endpoint<KeyListRequest, KeyListReply>('billing.v1.key.list', KeyListRequest, {
  about: 'Keys of one project or all, oldest first, revoked ones included',
});
