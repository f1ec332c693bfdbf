import type { PlanSubscription } from '#contracts/billing/plans.js';
import type { TenantCredit } from '#contracts/billing/tenants.js';
import { parseUsd } from '#money/pico-usd.js';
import { isTimeZone } from '../calendar/budget-window.js';
import { cancelPlan, renderSubscription, subscribePlan } from '../ledger/plan-subscriptions.js';
import { compareFields, type Fields, newFields, normalizeUsd, removedFields, renderPico } from './compare-fields.js';
import type { Planning } from './planning.js';
import type { TenantState, Tx } from './tenant-state.js';

export async function readCredits(tx: Tx, accountIds: string[]): Promise<Map<string, PlanSubscription>> {
  const rows = await tx.planSubscription.findMany({ where: { accountId: { in: accountIds } } });
  return new Map(rows.map((row) => [row.accountId, renderSubscription(row)]));
}

/** Unlike lists, a credit is ended by its own word, `null`, and not by a prune. */
export function planCredit(planning: Planning): void {
  const { accountId, state } = planning;
  const { credit } = planning.wanted;
  const stored = state?.credit;
  if (credit === undefined) return;
  if (credit === null) {
    if (stored)
      planning.end('credit', {}, removedFields(storedCredit(stored)), ({ joined, author }) => cancelPlan(joined, accountId, author));
    return;
  }
  if (parseUsd(credit.usd) === 0n) planning.fault(['credit', 'usd'], 'must not be zero');
  if (credit.timeZone !== undefined && !isTimeZone(credit.timeZone)) {
    planning.fault(['credit', 'timeZone'], 'must be the name of a time zone such as Europe/Berlin');
  }
  const { usd, period, timeZone = stored?.timeZone } = credit;
  const request = { accountId, usd, period, ...(timeZone !== undefined && { timeZone }) };
  const fields = wantedCredit(credit);
  if (stored) {
    planning.change('credit', {}, compareFields(storedCredit(stored), fields), ({ joined, author }) =>
      subscribePlan(joined, request, author),
    );
  } else {
    planning.create('credit', {}, newFields(fields), ({ joined, author }) => subscribePlan(joined, request, author));
  }
}

export function exportCredit({ credit }: TenantState): TenantCredit | undefined {
  return credit ? (storedCredit(credit) as unknown as TenantCredit) : undefined;
}

function storedCredit({ amountPicoUsd, period, timeZone }: PlanSubscription): Fields {
  return { usd: renderPico(amountPicoUsd), period, timeZone };
}

function wantedCredit({ usd, period, timeZone }: TenantCredit): Fields {
  return { usd: normalizeUsd(usd), period, timeZone };
}
