import type {
  ApiKey,
  CreatedKey,
  KeyCreateRequest,
  KeyListReply,
  KeyRotateRequest,
  KeyRow,
  KeyUpdateRequest,
  RotatedKey,
} from '#contracts/billing/keys.js';

/** `GET /projects/{projectId}/keys?limit&cursor` and `GET /accounts/{a}/keys?limit&cursor`, oldest first, whatever their state. */
export type { ApiKey, KeyListReply, KeyRow };

/** `POST /projects/{projectId}/keys`. Replies `CreatedKey`. */
export type KeyCreateBody = Omit<KeyCreateRequest, 'projectId'>;

/** `PATCH /keys/{keyId}`. Null clears a field. Replies `ApiKey`. */
export type KeyUpdateBody = Omit<KeyUpdateRequest, 'keyId'>;

/** `POST /keys/{keyId}/rotate`. Replies `RotatedKey`. */
export type KeyRotateBody = Omit<KeyRotateRequest, 'keyId'>;

export type { CreatedKey, RotatedKey };

// `DELETE /keys/{keyId}` revokes the key permanently and replies `ApiKey`.
