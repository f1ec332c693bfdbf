import { type MonthRange, selectRows } from './journal-rows.js';

/** Sums of an account that a statement shows. */
export const STATEMENT_SUMS = ['requests', 'topups', 'grants', 'credits', 'refunds', 'debits', 'forfeited', 'cost'] as const;

const sumKinds = (...kinds: string[]): string => `CASE WHEN kind IN ('${kinds.join(`', '`)}') THEN amount ELSE 0 END`;

/**
 * Rows of the journals as changes of their accounts; the only definition of where an amount stands in a statement. `change` is that of the
 * whole balance, held money included, and `topup_change` that of its top-up part. Amounts are numeric in all branches, so that Postgres reads
 * only the columns that a query uses.
 */
export function accountEntries(range: MonthRange): string {
  return `(
    SELECT account_id, (project_id IS NOT NULL)::int::bigint AS requests, 0::numeric AS topups, 0::numeric AS grants, 0::numeric AS credits,
      0::numeric AS refunds, 0::numeric AS debits, forfeit::numeric AS forfeited, cost::numeric AS cost, -(cost + forfeit)::numeric AS change,
      -topup_cost::numeric AS topup_change
    FROM ${selectRows('settlement', range)} s
    UNION ALL
    SELECT account_id, 0::bigint, 0::numeric, 0::numeric, 0::numeric, 0::numeric, 0::numeric, coalesce(forfeit, 0)::numeric,
      (due - writeoff)::numeric, -(plan_cost + topup_cost)::numeric, -topup_cost::numeric
    FROM ${selectRows('late_settlement', range)} l
    UNION ALL
    SELECT account_id, 0::bigint, (${sumKinds('topup')})::numeric, (${sumKinds('grant')})::numeric, (${sumKinds('credit', 'credit-note')})::numeric,
      (${sumKinds('refund')})::numeric, (${sumKinds('debit')})::numeric, (${sumKinds('forfeit')})::numeric, 0::numeric,
      (CASE WHEN kind IN ('topup', 'grant', 'credit', 'credit-note') THEN amount ELSE -amount END)::numeric,
      (CASE WHEN kind IN ('topup', 'credit', 'credit-note') THEN amount WHEN kind IN ('refund', 'debit') THEN -amount ELSE 0 END)::numeric
    FROM ${selectRows('movement', range)} m
  )`;
}

/** Rows of the journals as changes of their grants: what was granted, what is gone, and whether the grant has ended. */
export function grantEntries(range: MonthRange): string {
  return `(
    SELECT grant_id, account_id, amount, 0::numeric AS gone, false AS ended FROM ${selectRows('movement', range)} m WHERE kind = 'grant'
    UNION ALL
    SELECT grant_id, account_id, 0, amount, true FROM ${selectRows('movement', range)} m WHERE kind = 'forfeit'
    UNION ALL
    SELECT live_grant_id, account_id, 0, plan_cost, false FROM ${selectRows('settlement', range)} s WHERE live_grant_id IS NOT NULL
    UNION ALL
    SELECT grant_id, account_id, 0, ended_cost + forfeit, false FROM ${selectRows('settlement', range)} s WHERE grant_id IS NOT NULL
    UNION ALL
    SELECT live_grant_id, account_id, 0, plan_cost, false FROM ${selectRows('late_settlement', range)} l WHERE live_grant_id IS NOT NULL
  )`;
}
