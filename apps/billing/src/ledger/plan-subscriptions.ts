import { randomUUID } from 'node:crypto';
import type { PlanPeriod, PlanShowReply, PlanSubscribeRequest, PlanSubscription } from '#contracts/billing/plans.js';
import { ServiceError } from '#contracts/service-error.js';
import { audited, changedFields } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { parseUsd } from '#money/pico-usd.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { readBalance } from '../balance/read-balance.js';
import { isTimeZone } from '../calendar/budget-window.js';

/**
 * Subscribes an account to a plan, or changes its subscription. The change takes effect with the next grant, which is due when the current
 * grant of the subscription ends, unless the request names another time. Repeating a request changes nothing.
 * @throws {ServiceError} `not_found` for an unknown account, `invalid_request` for an unknown time zone or an amount of zero.
 */
export async function subscribePlan(
  prisma: PrismaClient,
  { accountId, usd, period, timeZone = 'UTC', startsAt }: PlanSubscribeRequest,
  author = OWN_AUTHOR,
): Promise<PlanSubscription> {
  const amount = parseUsd(usd);
  if (amount === 0n) throw new ServiceError('invalid_request', 'The amount must not be zero.', 'usd');
  if (!isTimeZone(timeZone)) throw new ServiceError('invalid_request', 'There is no such time zone.', 'timeZone');
  return audited(prisma, 'billing', author, async (tx) => {
    const former = await lockSubscription(tx, accountId);
    const terms = { amount: String(amount), period, timeZone, ...(startsAt && { dueAt: new Date(startsAt) }) };
    const row = former
      ? await tx.planSubscription.update({ where: { accountId }, data: terms })
      : await tx.planSubscription.create({ data: { id: randomUUID(), accountId, dueAt: new Date(), ...terms } });
    const subscription = renderSubscription(row);
    const changed = former ? changedFields(renderSubscription(former), subscription) : { before: null, after: { ...subscription } };
    return { result: subscription, change: changed && { ...describeChange('plan.subscribe', subscription), ...changed } };
  });
}

/**
 * Ends the subscription of an account. The current grant lasts to its end.
 * @throws {ServiceError} `not_found` for an unknown account, or one without a subscription.
 */
export async function cancelPlan(prisma: PrismaClient, accountId: string, author = OWN_AUTHOR): Promise<PlanSubscription> {
  return audited(prisma, 'billing', author, async (tx) => {
    const row = await lockSubscription(tx, accountId);
    if (!row) throw new ServiceError('not_found', 'This account has no plan subscription.', 'accountId');
    await tx.planSubscription.delete({ where: { accountId } });
    const subscription = renderSubscription(row);
    return { result: subscription, change: { ...describeChange('plan.cancel', subscription), before: { ...subscription }, after: null } };
  });
}

/** @throws {ServiceError} `not_found` for an unknown account. */
export async function showPlan(prisma: PrismaClient, accountId: string): Promise<PlanShowReply> {
  const { plan_balance_pico_usd: planBalancePicoUsd, plan_expires_at: expiresAt } = await readBalance(prisma, accountId);
  const row = await prisma.planSubscription.findUnique({ where: { accountId } });
  return { accountId, subscription: row && renderSubscription(row), planBalancePicoUsd, expiresAt };
}

/** Locks the account, as a grant does, and returns its subscription. */
async function lockSubscription(tx: Prisma.TransactionClient, accountId: string): Promise<Prisma.PlanSubscriptionModel | null> {
  const locked = await tx.$queryRaw<unknown[]>`SELECT FROM billing.account WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`;
  if (locked.length === 0) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  return tx.planSubscription.findUnique({ where: { accountId } });
}

function describeChange(action: string, { subscriptionId, accountId }: PlanSubscription) {
  return { action, accountId, target: `subscription/${subscriptionId}`, reason: null };
}

export function renderSubscription(row: Prisma.PlanSubscriptionModel): PlanSubscription {
  return {
    subscriptionId: row.id,
    accountId: row.accountId,
    amountPicoUsd: row.amount.toFixed(0),
    period: row.period as PlanPeriod,
    timeZone: row.timeZone,
    nextGrantAt: row.dueAt.toISOString(),
    createdAt: row.createdAt.toISOString(),
  };
}
