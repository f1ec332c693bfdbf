import type { Budget } from '#contracts/billing/budgets.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { inUnit } from './budget.js';

/** The last events of an account that are searched. At most one refusal a minute is one, and few other events are as frequent. */
const EVENTS_MAX = 1_000;

/** A refusal that a budget caused, from its event. */
interface Refusal {
  budgetId: string;
  /** Milliseconds. */
  at: number;
  required: string;
}

/** Adds `refusing` to the budgets that refused requests in their window and would refuse them again. */
export async function markRefusing(prisma: PrismaClient, accountId: string, budgets: Budget[]): Promise<Budget[]> {
  // Most accounts were never refused anything, and need no look at their events.
  const refusals = await prisma.$queryRaw<Refusal[]>`
    SELECT payload->>'budgetId' AS "budgetId", floor(extract(epoch FROM created_at) * 1000)::float8 AS at,
      coalesce(payload->>'requiredPicoUsd', payload->>'requiredTokens') AS required
    FROM (SELECT kind, payload, created_at FROM billing.money_event
      WHERE account_id = ${accountId}::uuid ORDER BY sequence DESC LIMIT ${EVENTS_MAX}) latest
    WHERE kind = 'budget-exhausted' AND ${hasBeenRefused(accountId)}`;
  return budgets.map((budget) => ({ ...budget, ...describeRefusing(budget, refusals) }));
}

function hasBeenRefused(accountId: string): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT FROM billing.account WHERE id = ${accountId}::uuid AND refused_at IS NOT NULL)`;
}

/** The first refusal of the window, and the smallest request that what is left does not cover, even if nothing were held. */
function describeRefusing(budget: Budget, refusals: readonly Refusal[]): Pick<Budget, 'refusing'> {
  const { limit, spent } = parseAmounts(budget);
  const begin = budget.windowStart === null ? Number.NEGATIVE_INFINITY : Date.parse(budget.windowStart);
  const ofWindow = refusals.filter(
    ({ budgetId, at, required }) => budgetId === budget.budgetId && at >= begin && BigInt(required) > limit - spent,
  );
  if (ofWindow.length === 0) return {};
  const since = new Date(Math.min(...ofWindow.map(({ at }) => at))).toISOString();
  const required = ofWindow.map((refusal) => BigInt(refusal.required)).reduce((least, one) => (one < least ? one : least));
  return { refusing: { since, ...inUnit(budget.unit, { required }) } };
}
