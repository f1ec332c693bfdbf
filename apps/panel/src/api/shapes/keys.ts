import type { ApiKey, KeyListReply } from '#contracts/billing/keys.js';

/** `GET /projects/{projectId}/keys?limit&cursor` and `GET /accounts/{a}/keys?limit&cursor`, oldest first, revoked keys included. */
export type { ApiKey, KeyListReply };

/** `POST /projects/{projectId}/keys`. Replies `CreatedKey`. */
export interface KeyCreateBody {
  /** Repeating it with the same id is a `conflict`, because the key is shown once. Default: a new id. */
  keyId?: string;
  name?: string;
}

export interface CreatedKey extends ApiKey {
  /** The whole key, shown once. */
  key: string;
}

// `DELETE /keys/{keyId}` revokes the key permanently and replies `ApiKey`.
