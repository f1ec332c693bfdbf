import type { Account } from '#contracts/billing/accounts.js';
import type { Balance } from '#contracts/billing/money.js';
import { type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { PanelError } from '../../http/panel-error.js';
import type { Services } from '../../services/services.js';
import { serviceOf } from '../../services/services.js';
import type { OverviewWarning } from '../shapes/overview.js';

/** Milliseconds before the end of a plan at which the overview warns of it. */
const PLAN_ENDS_MS = 7 * 24 * 3_600_000;
/** A warning must not delay the page. */
const ANSWER_MS = 2_000;

/** Returns what the owner of an account should act on. */
export function accountWarnings(account: Account, balance: Balance, now: Date): OverviewWarning[] {
  const { accountId, status, statusReason, lowBalancePicoUsd } = account;
  const { available_pico_usd: availablePicoUsd, plan_balance_pico_usd: planBalancePicoUsd, plan_expires_at: planExpiresAt } = balance;
  const available = BigInt(availablePicoUsd);
  const isLow = lowBalancePicoUsd !== null && BigInt(balance.balance_pico_usd) < BigInt(lowBalancePicoUsd);
  const endsSoon = planExpiresAt !== null && Date.parse(planExpiresAt) - now.getTime() < PLAN_ENDS_MS;
  return [
    ...(status === 'frozen' ? [{ kind: 'account-frozen', accountId, statusReason } as const] : []),
    ...(available <= 0n ? [{ kind: 'balance-empty', accountId } as const] : []),
    ...(available > 0n && isLow ? [{ kind: 'balance-low', accountId, availablePicoUsd, lowBalancePicoUsd } as const] : []),
    ...(endsSoon ? [{ kind: 'plan-ends', accountId, planExpiresAt, planBalancePicoUsd } as const] : []),
  ];
}

/** Returns what the operator should act on. */
export async function platformWarnings(services: Services): Promise<OverviewWarning[]> {
  return orUnavailable(routeStatus.subject, async () => openCircuits(await services.askEvery(routeStatus, {}, ANSWER_MS)));
}

async function orUnavailable(subject: string, warnings: () => Promise<OverviewWarning[]>): Promise<OverviewWarning[]> {
  try {
    return await warnings();
  } catch (error) {
    if (error instanceof PanelError && error.code === 'unavailable') return [{ kind: 'service-unavailable', service: serviceOf(subject) }];
    throw error;
  }
}

/** Returns one warning for each route that replicas do not call, with their number. */
export function openCircuits(replicas: readonly RouteStatusReply[]): OverviewWarning[] {
  const open = replicas.flatMap(({ routes }) => routes.filter(({ circuit }) => circuit === 'open'));
  const routes = Map.groupBy(open, ({ model, upstream }) => JSON.stringify([model, upstream]));
  return [...routes.values()].flatMap((same) =>
    same.slice(0, 1).map(({ model, upstream }) => ({ kind: 'circuit-open', model, upstream, replicas: same.length }) as const),
  );
}
