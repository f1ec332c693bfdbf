import type { BudgetUnit } from '#contracts/billing/budgets.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import type { BudgetWindow } from '../calendar/budget-window.js';
import { selectRootKeys } from '../payer/key-roots.js';
import { inUsageSnapshot } from '../usage/usage-snapshot.js';

/** Selects the requests a budget covers and the amount each adds to it. */
export interface Counted {
  unit: BudgetUnit;
  accountId: string;
  projectId: string | null;
  keyId: string | null;
}

/** Sum of the journals in one snapshot, in the unit of the budget. */
export interface SpentBefore {
  spent: bigint;
  snapshot: string;
}

/**
 * SQL query of the costs and tokens in the journals, with the time of their hold. A late settlement has a row of its own. A hold is always
 * opened before it is settled, so the index by `settled_at` finds the rows of a window.
 */
export const BUDGET_COSTS = `(
    SELECT transaction_id, account_id, project_id, key_id, reserved_at, settled_at, cost,
      prompt_tokens::int8 + output_tokens AS tokens, attribution FROM billing.settlement WHERE project_id IS NOT NULL
    UNION ALL
    SELECT l.transaction_id, l.account_id, s.project_id, s.key_id, s.reserved_at, l.settled_at, l.due - l.writeoff,
      l.prompt_tokens::int8 + l.output_tokens - s.prompt_tokens - s.output_tokens, s.attribution
    FROM billing.late_settlement l JOIN billing.settlement s ON s.hold_id = l.hold_id
  )`;
export const COSTS = Prisma.raw(BUDGET_COSTS);

/**
 * Sums the amounts that requests of a window have spent so far. Call it before the account is locked, because it reads the whole window. A
 * budget without an end reads the rollups of usage instead.
 */
export async function countSpent(prisma: PrismaClient, counted: Counted, { windowStart }: BudgetWindow): Promise<SpentBefore> {
  return inUsageSnapshot(prisma, async (tx, { closedTo }) => {
    const costs = Number.isFinite(windowStart)
      ? Prisma.sql`SELECT ${spentIn(counted)} AS spent FROM ${COSTS} c WHERE settled_at >= ${new Date(windowStart)} AND reserved_at >= ${new Date(windowStart)} ${coveredOnly(counted)}`
      : Prisma.sql`SELECT ${counted.unit === 'tokens' ? ROLLUP_TOKENS : COST} AS spent FROM billing.usage_day c WHERE true ${coveredOnly(counted)}
          UNION ALL SELECT ${spentIn(counted)} FROM ${COSTS} c WHERE transaction_id >= ${closedTo} ${coveredOnly(counted)}`;
    const rows = await tx.$queryRaw<{ spent: string; snapshot: string }[]>`
      SELECT coalesce(sum(spent), 0)::text AS spent, pg_current_snapshot()::text AS snapshot FROM (${costs}) used`;
    return { spent: BigInt(rows[0]?.spent ?? 0), snapshot: rows[0]?.snapshot ?? '' };
  });
}

/** Adds the amounts committed since the snapshot, in the transaction that has locked the account. Reads only the end of the journals. */
export async function countSpentSince(
  tx: Prisma.TransactionClient,
  counted: Counted,
  { windowStart }: BudgetWindow,
  { spent, snapshot }: SpentBefore,
): Promise<bigint> {
  const from = Number.isFinite(windowStart) ? Prisma.sql`AND reserved_at >= ${new Date(windowStart)}` : Prisma.empty;
  // The oldest transaction that was running stands before the first colon. The index on transaction ids needs it as a parameter.
  const oldest = BigInt(snapshot.split(':')[0] ?? 0);
  const rows = await tx.$queryRaw<{ spent: string }[]>`
    SELECT coalesce(sum(${spentIn(counted)}), 0)::text AS spent FROM ${COSTS} c
    WHERE transaction_id >= ${oldest} AND NOT pg_visible_in_snapshot(transaction_id::text::xid8, ${snapshot}::pg_snapshot) ${from} ${coveredOnly(counted)}`;
  return spent + BigInt(rows[0]?.spent ?? 0);
}

/** Sums the open holds of a window, in the transaction that has locked the account. */
export async function countHeld(tx: Prisma.TransactionClient, counted: Counted, { windowStart }: BudgetWindow): Promise<bigint> {
  const from = Number.isFinite(windowStart) ? Prisma.sql`AND created_at >= ${new Date(windowStart)}` : Prisma.empty;
  const rows = await tx.$queryRaw<{ held: string }[]>`
    SELECT coalesce(sum(${heldIn(counted)}), 0)::text AS held FROM billing.hold c WHERE true ${from} ${coveredOnly(counted)}`;
  return BigInt(rows[0]?.held ?? 0);
}

const COST = Prisma.sql`cost`;
const ROLLUP_TOKENS = Prisma.sql`prompt_tokens + output_tokens`;

/** Returns the column of `COSTS` that a budget counts. */
export function spentIn({ unit }: Pick<Counted, 'unit'>): Prisma.Sql {
  return unit === 'tokens' ? Prisma.sql`tokens` : COST;
}

/** Returns the column of `billing.hold` that a budget counts. */
export function heldIn({ unit }: Pick<Counted, 'unit'>): Prisma.Sql {
  return unit === 'tokens' ? Prisma.sql`coalesce(amount_tokens, 0)` : Prisma.sql`amount`;
}

/** Returns the conditions on account, project and key of rows `c`. */
export function coveredOnly({ accountId, projectId, keyId }: Counted): Prisma.Sql {
  const filters = [
    Prisma.sql`AND c.account_id = ${accountId}::uuid`,
    ...(projectId ? [Prisma.sql`AND c.project_id = ${projectId}::uuid`] : []),
    ...(keyId ? [Prisma.sql`AND c.key_id IN (${selectRootKeys(keyId)})`] : []),
  ];
  return Prisma.join(filters, ' ');
}
