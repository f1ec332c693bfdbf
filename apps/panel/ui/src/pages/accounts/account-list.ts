import type { AccountRow, UsageRow } from '../../../../src/shapes/billing.js';

/** Requests and cost of an account in the time that the page shows. */
export type AccountUsage = Pick<UsageRow, 'requests' | 'costPicoUsd'>;

/** True when the name, the id, the price plan or the reason of a freeze has the text. */
export function isFound({ name, accountId, pricePlan, statusReason }: AccountRow, search = ''): boolean {
  const text = search.trim().toLowerCase();
  return [name, accountId, pricePlan, statusReason].some((word) => word?.toLowerCase().includes(text));
}

/** Returns accounts in the order of a column; `-` before its name: the largest first. Amounts are compared exactly. */
export function sortAccounts(accounts: readonly AccountRow[], sort: string, usage: ReadonlyMap<string, AccountUsage>): AccountRow[] {
  const compare: Record<string, (one: AccountRow, other: AccountRow) => number> = {
    name: (one, other) => one.name.localeCompare(other.name),
    opened: (one, other) => one.createdAt.localeCompare(other.createdAt),
    requests: byAmount(({ accountId }) => BigInt(usage.get(accountId)?.requests ?? 0)),
    spent: byAmount(({ accountId }) => BigInt(usage.get(accountId)?.costPicoUsd ?? 0)),
    available: byAmount(({ balance }) => BigInt(balance?.available_pico_usd ?? 0)),
  };
  const [column, direction] = sort.startsWith('-') ? [sort.slice(1), -1] : [sort, 1];
  const by = (Object.hasOwn(compare, column) && compare[column]) || (() => 0);
  return accounts.toSorted((one, other) => direction * by(one, other));
}

function byAmount(read: (account: AccountRow) => bigint): (one: AccountRow, other: AccountRow) => number {
  return (one, other) => Number(read(one) > read(other)) - Number(read(one) < read(other));
}
