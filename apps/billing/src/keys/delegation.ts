import { createHmac } from 'node:crypto';
import type { Delegation } from '#contracts/billing/keys.js';

/** The budgets that let a key have child keys. Null: there are none. */
export interface ChildBudget {
  /** The one that was set first. */
  childBudgetId: string | null;
  /** Their lowest limit. */
  childLimit: string | null;
}

/** SQL query of a `ChildBudget` of the key `k` of the project `p`. */
export const SELECT_CHILD_BUDGET = `SELECT (array_agg(b.id::text ORDER BY b.created_at, b.id))[1] AS "childBudgetId", min(b.limit_amount)::text AS "childLimit"
        FROM billing.budget b WHERE b.account_id = p.account_id AND b.dimension = 'child' AND b.unit = 'usd'
          AND (b.project_id IS NULL OR b.project_id = p.id) AND (b.key_id IS NULL OR b.key_id = coalesce(k.root_key_id, k.id))`;

interface DelegatingKey extends ChildBudget {
  keyId: string;
  revokedChildren: string[] | null;
}

/**
 * Returns what the child keys of a key may be; undefined when it may have none. The signing key is derived from the pepper of the API keys, the
 * key and the budget that was set first: it is stored nowhere, and a child key ends with its budget, whose sums would begin anew.
 */
export function findDelegation(
  { keyId, childBudgetId, childLimit, revokedChildren }: DelegatingKey,
  pepper: string,
): Delegation | undefined {
  if (childBudgetId === null || childLimit === null) return undefined;
  const signingKey = createHmac('sha256', pepper).update(`child keys of ${keyId} by ${childBudgetId}`).digest('base64');
  return { signingKey, limitPicoUsd: childLimit, ...(revokedChildren && { revoked: revokedChildren }) };
}
