import { CHILD } from '#contracts/billing/attribution.js';
import type { BudgetValue, BudgetValuesReply, BudgetValuesRequest } from '#contracts/billing/budgets.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { isText, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { inUnit } from './budget.js';
import { listBudgets } from './budgets.js';

const LIMIT_DEFAULT = 100;

/**
 * Lists what users, sessions or other values have used of a budget in its current window, in the order of the values. Of child keys those that
 * have not ended.
 * @throws {ServiceError} `not_found` when the account has no such budget with a dimension, `invalid_request` for the cursor.
 */
export async function listBudgetValues(prisma: PrismaClient, request: BudgetValuesRequest): Promise<BudgetValuesReply> {
  const { accountId, budgetId, value, limit = LIMIT_DEFAULT } = request;
  const [budget] = (await listBudgets(prisma, { accountId, budgetId })).budgets;
  if (!budget?.dimension) throw new ServiceError('not_found', 'The account has no such budget of users or tags.', 'budgetId');
  const question = { accountId, budgetId, value };
  const [after] = request.cursor === undefined ? [] : parseCursor(question, request.cursor, [isText]);
  const rows = await prisma.$queryRaw<{ value: string; spent: string; held: string; own_limit: string | null }[]>`
    SELECT value, spent::text, held::text, own_limit::text FROM billing.budget_value
    WHERE budget_id = ${budgetId}::uuid AND ${budget.dimension === CHILD ? Prisma.sql`window_end > now()` : Prisma.sql`window_end = ${budget.resetsAt ?? 'infinity'}::timestamptz`}
      ${value === undefined ? Prisma.empty : Prisma.sql`AND value = ${value}`} ${after === undefined ? Prisma.empty : Prisma.sql`AND value > ${after}`}
    ORDER BY value LIMIT ${limit + 1}`;
  const values = rows.slice(0, limit).map(
    ({ value, own_limit, ...used }): BudgetValue => ({
      value,
      ...(own_limit !== null && { limitPicoUsd: own_limit }),
      ...inUnit(budget.unit, used),
    }),
  );
  const last = rows.length > limit ? values.at(-1) : undefined;
  return { budget, values, nextCursor: last ? renderCursor(question, [last.value]) : null };
}
