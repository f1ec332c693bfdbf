import type { ApiKey, KeyStatus } from '#contracts/billing/keys.js';

/** SQL condition: the key `k` is active. Rows are compared with the database's clock. */
export const KEY_IS_ACTIVE = 'k.revoked_at IS NULL AND NOT k.disabled AND coalesce(k.expires_at > clock_timestamp(), true)';

/** Returns the state of a key at `now`, a time in milliseconds. */
export function findStatus(
  { revokedAt, disabled, expiresAt }: Pick<ApiKey, 'revokedAt' | 'disabled' | 'expiresAt'>,
  now: number,
): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return 'expired';
  return disabled ? 'disabled' : 'active';
}
