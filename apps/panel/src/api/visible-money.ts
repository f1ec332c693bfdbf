import type { Access } from '../permissions/permissions.js';
import type { AccountMoney, BilledRequest, VisibleAccount } from '../shapes/billing.js';
import type { OverviewFigures, OverviewWarning } from '../shapes/overview.js';

/** Each field of an account that only callers with `money.read` get. The compiler asks for every one. */
const MONEY = {
  balance: true,
  lowBalancePicoUsd: true,
  creditLinePicoUsd: true,
  pricePlan: true,
  nextPricePlan: true,
} satisfies Record<keyof AccountMoney, true>;

/** Returns an account without its money for a caller without `money.read` in it. */
export function visibleAccount<Row extends VisibleAccount>(access: Access, account: Row): Row | VisibleAccount {
  if (access.may('money.read', account.accountId)) return account;
  return Object.fromEntries(Object.entries(account).filter(([field]) => !Object.hasOwn(MONEY, field))) as unknown as VisibleAccount;
}

/** Returns a request without the name of its account's price plan, likewise. */
export function visibleRequest(access: Access, request: BilledRequest): BilledRequest {
  if (access.may('money.read', request.accountId)) return request;
  const { pricePlan: _, ...price } = request.price;
  return { ...request, price };
}

/** Returns an overview without balance, and without warnings that have an amount of it, likewise. That the balance is empty stays. */
export function visibleOverview(access: Access, accountId: string | null, overview: OverviewFigures): OverviewFigures {
  if (access.may('money.read', accountId)) return overview;
  return { ...overview, balance: null, warnings: overview.warnings.filter(({ kind }) => !WITH_AMOUNTS.has(kind)) };
}

const WITH_AMOUNTS: ReadonlySet<OverviewWarning['kind']> = new Set(['balance-low', 'plan-ends']);
