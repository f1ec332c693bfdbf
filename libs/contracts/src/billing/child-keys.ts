import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { CHILD_SECONDS_MAX } from '../child-keys/narrow-child.js';
import { Endpoint } from '../endpoint.js';
import { CHILD_PATH } from '../rules/child-path.js';
import { TagValues } from './attribution.js';
import { Id, ModelPatterns, Networks, type Paged, PICO_USD, Text } from './fields.js';
import type { ResolvedKey } from './keys.js';

const SHA256_HEX = /^[0-9a-f]{64}$/;

export class ChildKeyResolveRequest {
  /** A child key without its signature. */
  @Matches(/^tg_child_[\w-]{1,4000}$/) signed!: string;
  /** Hex SHA-256 of its signature, which never leaves the gateway. */
  @Matches(SHA256_HEX) proof!: string;
}

/** Replies as `keyResolve` for the key that a child key is of, and `invalid_api_key` also for a child key that it has not signed. */
export const childKeyResolve = new Endpoint<ChildKeyResolveRequest, ResolvedKey>('billing.v1.child-key.resolve', ChildKeyResolveRequest, {
  about: 'Returns the key of a child key, and what its child keys may be',
  isRepeatable: true,
});

export class ChildKeyMintRequest {
  @Id() keyId!: string;
  /** The most that the child key and all below it may cost. Default: the limit of the budget of child keys. */
  @IsOptional() @Matches(PICO_USD) limitPicoUsd?: string;
  /** Seconds that it lives. It never outlives the key. Default: 3,600, or until the key ends. */
  @IsOptional() @IsInt() @Min(1) @Max(CHILD_SECONDS_MAX) seconds?: number;
  /** Some of the key's models. Default: all of them. */
  @IsOptional() @ModelPatterns() models?: string[];
  /** Some of the key's networks. Default: all of them. */
  @IsOptional() @Networks() networks?: string[];
  /** Tags that all its requests get, whatever they name. Default: none. */
  @IsOptional() @TagValues() tags?: Record<string, string>;
}

export interface MintedChildKey {
  /** Its id, with the chain of child keys above it. */
  childId: string;
  keyId: string;
  /** The secret, shown once: nothing of it is stored. */
  key: string;
  expiresAt: string;
  limitPicoUsd: string;
}

/** Replies `not_found` for an unknown key, and `conflict` for one that is not active or that no budget lets have child keys. */
export const childKeyMint = new Endpoint<ChildKeyMintRequest, MintedChildKey>('billing.v1.child-key.mint', ChildKeyMintRequest, {
  about: 'Makes a child key of an API key and shows it once',
  isRecorded: true,
});

export class ChildKeyListRequest {
  @Id() keyId!: string;
  /** Rows on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same key. */
  @IsOptional() @Text(2_000) cursor?: string;
}

/** A child key that has not ended by itself, with what it and all below it have used of its limit. */
export interface ListedChildKey {
  childId: string;
  expiresAt: string;
  /** The most that it and all below it may cost. */
  limitPicoUsd: string;
  spentPicoUsd: string;
  heldPicoUsd: string;
  /** True when it or one above it is revoked. */
  isRevoked: boolean;
}

export interface ChildKeyListReply extends Paged {
  /** In the order of their ids: by the end of the first of each chain, each below the one that made it. */
  childKeys: ListedChildKey[];
}

/**
 * Child keys that the journal knows: those that have made a request, and those of `child-key.mint`. One that was made over HTTP is not stored
 * before its first request. Replies `not_found` for an unknown key.
 */
export const childKeyList = new Endpoint<ChildKeyListRequest, ChildKeyListReply>('billing.v1.child-key.list', ChildKeyListRequest, {
  about: 'Child keys of an API key that have not ended, with what each has spent of its limit',
});

export class ChildKeyRevokeRequest {
  @Id() keyId!: string;
  /** The child key: all below it end too. */
  @Matches(CHILD_PATH) childId!: string;
}

export interface RevokedChildKeys {
  keyId: string;
  /** All child keys of the key that were revoked before their end. */
  revoked: string[];
}

/** Most revoked child keys of one key. */
export const REVOKED_CHILDREN_MAX = 1_000;

/** Replies `not_found` for an unknown key, and `conflict` when it has `REVOKED_CHILDREN_MAX` revoked child keys that would live on. */
export const childKeyRevoke = new Endpoint<ChildKeyRevokeRequest, RevokedChildKeys>('billing.v1.child-key.revoke', ChildKeyRevokeRequest, {
  about: 'Revokes a child key and all below it',
  isRecorded: true,
});
