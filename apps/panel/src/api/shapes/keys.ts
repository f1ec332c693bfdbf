import type { ApiKey, KeyCreateRequest, KeyListReply } from '#contracts/billing/keys.js';

/** `GET /projects/{projectId}/keys?limit&cursor` and `GET /accounts/{a}/keys?limit&cursor`, oldest first, revoked keys included. */
export type { ApiKey, KeyListReply };

/** `POST /projects/{projectId}/keys`. Replies `CreatedKey`. */
export type KeyCreateBody = Omit<KeyCreateRequest, 'projectId'>;

export interface CreatedKey extends ApiKey {
  /** The whole key, shown once. */
  key: string;
}

// `DELETE /keys/{keyId}` revokes the key permanently and replies `ApiKey`.
