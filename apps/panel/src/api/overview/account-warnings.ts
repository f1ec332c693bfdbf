import type { Account } from '#contracts/billing/accounts.js';
import type { Balance } from '#contracts/billing/money.js';
import type { OverviewWarning } from '../shapes/overview.js';

/** Milliseconds before the end of a plan at which the overview warns of it. */
const PLAN_ENDS_MS = 7 * 24 * 3_600_000;

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
