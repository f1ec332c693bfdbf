import type { Account } from '#contracts/billing/accounts.js';
import type { Budget } from '#contracts/billing/budgets.js';
import type { KeyRow } from '#contracts/billing/keys.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import type { AccountBalance, OverviewWarning } from '../../shapes/overview.js';

/** Milliseconds before the end of a plan or a key at which the overview warns of it. */
export const ENDS_SOON_MS = 7 * 24 * 3_600_000;
/** Lifetime, in milliseconds, of a key that is meant to end soon, such as one of the playground. */
const SHORT_LIFE_MS = 24 * 3_600_000;

/** Thousandths of a limit from which on a budget is low, and empty. What is left of an empty one holds hardly any request. */
const BUDGET_LOW = 800n;
const BUDGET_EMPTY = 995n;

export interface AccountState {
  account: Account;
  balance: AccountBalance;
}

/** Budgets and keys of an account or of one project. */
export interface LimitState {
  accountId: string;
  budgets: Budget[];
  /** Active keys that end within `ENDS_SOON_MS`. */
  endingKeys: readonly KeyRow[];
}

/** Returns what the owner of an account should act on, for what belongs to the whole account. */
export function accountWarnings({ account, balance }: AccountState, now: Date): OverviewWarning[] {
  const { accountId, status, statusReason, lowBalancePicoUsd } = account;
  const { available_pico_usd: availablePicoUsd, plan_balance_pico_usd: planBalancePicoUsd, plan_expires_at: planExpiresAt } = balance;
  const available = BigInt(availablePicoUsd);
  const isLow = lowBalancePicoUsd !== null && BigInt(balance.balance_pico_usd) < BigInt(lowBalancePicoUsd);
  const endsSoon = planExpiresAt !== null && Date.parse(planExpiresAt) - now.getTime() < ENDS_SOON_MS;
  return [
    ...(status === 'frozen' ? [{ kind: 'account-frozen', accountId, statusReason } as const] : []),
    ...(available <= 0n ? [{ kind: 'balance-empty', accountId } as const] : []),
    ...(available > 0n && isLow ? [{ kind: 'balance-low', accountId, availablePicoUsd, lowBalancePicoUsd } as const] : []),
    ...(endsSoon ? [{ kind: 'plan-ends', accountId, planExpiresAt, planBalancePicoUsd } as const] : []),
  ];
}

/** Returns what to act on in an account or a project. */
export function limitWarnings({ accountId, budgets, endingKeys }: LimitState): OverviewWarning[] {
  return [...budgets.flatMap(budgetWarning), ...keysEnd(accountId, endingKeys)];
}

function budgetWarning(budget: Budget): OverviewWarning[] {
  const { accountId } = budget;
  const { limit, ...amounts } = parseAmounts(budget);
  const spent = 1_000n * amounts.spent;
  if (budget.refusing || spent >= BUDGET_EMPTY * limit) return [{ kind: 'budget-empty', accountId, budget }];
  return spent >= BUDGET_LOW * limit ? [{ kind: 'budget-low', accountId, budget }] : [];
}

/** Replaced and short-lived keys are left out: their end is meant. */
function keysEnd(accountId: string, endingKeys: readonly KeyRow[]): OverviewWarning[] {
  const keys = endingKeys.flatMap(({ keyId, name, lastFour, createdAt, expiresAt, replacedBy }) => {
    const isMeant = expiresAt === null || replacedBy !== null || Date.parse(expiresAt) - Date.parse(createdAt) < SHORT_LIFE_MS;
    return isMeant ? [] : [{ keyId, name, lastFour, expiresAt }];
  });
  if (keys.length === 0) return [];
  return [{ kind: 'keys-end', accountId, keys: keys.sort((one, other) => one.expiresAt.localeCompare(other.expiresAt)) }];
}
