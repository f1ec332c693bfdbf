import { IsOptional, Matches } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { ListRequest } from './accounts.js';
import { Id, type Paged, Text } from './fields.js';

const SHA256_HEX = /^[0-9a-f]{64}$/;

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
  'Returns the project and account of an API key',
);

export class KeyCreateRequest {
  /** Repeating it with the same id is a `conflict`, because the key is shown once. Default: a new id. */
  @IsOptional() @Id() keyId?: string;
  @Id() projectId!: string;
  @IsOptional() @Text(200) name?: string;
}

export interface ApiKey {
  keyId: string;
  projectId: string;
  name: string | null;
  /** The last four characters. The whole key is shown once, when it is made. */
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
  @Id() keyId!: string;
}

export const keyRevoke = new Endpoint<KeyRevokeRequest, ApiKey>(
  'billing.v1.key.revoke',
  KeyRevokeRequest,
  'Revokes an API key permanently',
);

export interface KeyRow extends ApiKey {
  /** End of the key's newest request. Null: none has ended. */
  lastUsedAt: string | null;
}

export class KeyListRequest extends ListRequest {
  /** Only this key. */
  @IsOptional() @Id() keyId?: string;
}

export interface KeyListReply extends Paged {
  keys: KeyRow[];
}

export const keyList = new Endpoint<KeyListRequest, KeyListReply>(
  'billing.v1.key.list',
  KeyListRequest,
  'Keys of one project or all, oldest first, revoked ones included',
);
