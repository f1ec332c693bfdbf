import type { ApiKey, KeyStatus } from '#contracts/billing/keys.js';

/** SQL condition: the key `k` is active. Rows are compared with the database's clock. */
export const KEY_IS_ACTIVE = 'k.revoked_at IS NULL AND NOT k.disabled AND coalesce(k.expires_at > clock_timestamp(), true)';

/** SQL condition: the child key in the column `child` of `l`, if there is one, has not ended and is not revoked. Its key is `k`. */
export const CHILD_IS_ACTIVE = `(l.child IS NULL OR to_timestamp(substring(l.child FROM '(\\d+)-[0-9a-f]+$')::float8) > clock_timestamp()
      AND NOT EXISTS (SELECT FROM unnest(k.revoked_children) r WHERE l.child = r OR starts_with(l.child, r || '.')))`;

/** Returns the state of a key at `now`, a time in milliseconds. */
export function findStatus(
  { revokedAt, disabled, expiresAt }: Pick<ApiKey, 'revokedAt' | 'disabled' | 'expiresAt'>,
  now: number,
): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return 'expired';
  return disabled ? 'disabled' : 'active';
}
