import { Prisma } from '#database/prisma-client.js';
import type { BudgetWindow } from '../calendar/budget-window.js';
import { COSTS, type Counted, coveredOnly, heldIn, spentIn } from './count-spent.js';

/** A new budget of users or tags. */
export interface NewValues extends Counted {
  budgetId: string;
  dimension: string;
  /** Null: each value. */
  value: string | null;
  window: BudgetWindow;
}

/**
 * Adds a row for each value that has spent something in the window, and returns the snapshot that it has read. Call it in the transaction that
 * adds the budget, before the account is locked: it reads the whole window. Nobody else knows the budget yet.
 */
export async function addSpentValues(tx: Prisma.TransactionClient, added: NewValues): Promise<string> {
  const start = new Date(added.window.windowStart);
  const rows = await tx.$queryRaw<{ snapshot: string }[]>`
    WITH added AS (
      INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
      SELECT ${added.budgetId}::uuid, ${added.accountId}::uuid, ${renderEnd(added)}::timestamptz, value, sum(spent), 0 FROM (
        SELECT ${valueColumn(added)} AS value, ${spentIn(added)} AS spent FROM ${COSTS} c WHERE settled_at >= ${start} AND reserved_at >= ${start} ${coveredOnly(added)}
      ) used WHERE ${counts(added)} GROUP BY value HAVING sum(spent) > 0 RETURNING 1)
    SELECT pg_current_snapshot()::text AS snapshot FROM (SELECT count(*) FROM added) counted`;
  return rows[0]?.snapshot ?? '';
}

/** Adds what has been committed since the snapshot, and what is held, after the account was locked. */
export async function addValuesSince(tx: Prisma.TransactionClient, added: NewValues, snapshot: string): Promise<void> {
  const start = new Date(added.window.windowStart);
  // Before the first colon: the oldest transaction that was running. The index on transaction ids needs it as a value of the query.
  const oldest = BigInt(snapshot.split(':')[0] ?? 0);
  const since = Prisma.sql`(
    SELECT value, sum(spent) AS spent, sum(held) AS held FROM (
      SELECT ${valueColumn(added)} AS value, ${spentIn(added)} AS spent, 0 AS held FROM ${COSTS} c WHERE transaction_id >= ${oldest}
        AND NOT pg_visible_in_snapshot(transaction_id::text::xid8, ${snapshot}::pg_snapshot) AND reserved_at >= ${start} ${coveredOnly(added)}
      UNION ALL SELECT ${valueColumn(added)}, 0, ${heldIn(added)} FROM billing.hold c WHERE created_at >= ${start} ${coveredOnly(added)}
    ) used WHERE ${counts(added)} GROUP BY value)`;
  await tx.$executeRaw`UPDATE billing.budget_value v SET spent = v.spent + s.spent, held = v.held + s.held FROM ${since} s
    WHERE v.budget_id = ${added.budgetId}::uuid AND v.value = s.value`;
  await tx.$executeRaw`INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
    SELECT ${added.budgetId}::uuid, ${added.accountId}::uuid, ${renderEnd(added)}::timestamptz, value, spent, held FROM ${since} s
    WHERE NOT EXISTS (SELECT FROM billing.budget_value v WHERE v.budget_id = ${added.budgetId}::uuid AND v.value = s.value)`;
}

function valueColumn({ dimension }: NewValues): Prisma.Sql {
  return Prisma.sql`(c.attribution ->> ${dimension}) COLLATE "C"`;
}

function counts({ value }: NewValues): Prisma.Sql {
  return value === null ? Prisma.sql`value IS NOT NULL` : Prisma.sql`value = ${value}`;
}

function renderEnd({ window: { windowEnd } }: NewValues): string {
  return Number.isFinite(windowEnd) ? new Date(windowEnd).toISOString() : 'infinity';
}
