import type { Budget, KeyRow, UsageRow } from '../../../../src/shapes/billing.js';
import type { Filters, KeyKind } from '../../data/filters.js';
import { limitWords } from './key-limits.js';
import { keyTitle } from './key-words.js';

const IDLE_MS = 30 * 86_400_000;

/** Requests and cost of a key in the time that the page shows. */
export type KeyUsage = Pick<UsageRow, 'requests' | 'costPicoUsd'>;

export function hasEnded({ status }: KeyRow): boolean {
  return status === 'revoked' || status === 'expired';
}

/** A key is rotated once, while it is active. */
export function mayRotate({ status, replacedBy }: KeyRow): boolean {
  return status === 'active' && replacedBy === null;
}

/** True when a budget of the key, its project or account lets it have child keys. */
export function mayDelegate({ rootKeyId, projectId }: KeyRow, budgets: readonly Budget[]): boolean {
  const isCounted = (budget: Budget): boolean =>
    budget.keyId === null ? budget.projectId === null || budget.projectId === projectId : budget.keyId === rootKeyId;
  return budgets.some((budget) => budget.dimension === 'child' && budget.unit === 'usd' && isCounted(budget));
}

/** True when the filters of the page choose the key. Ended keys are a matter of their own. */
export function isChosen(key: KeyRow, filters: Filters, projectName: (projectId: string) => string, now: number): boolean {
  const { search, creator, only } = filters;
  if (filters.key) return key.keyId === filters.key;
  if (filters.project && key.projectId !== filters.project) return false;
  if (creator && (key.createdBy ?? '') !== creator) return false;
  if (only && !KINDS[only](key, now)) return false;
  const { lastFour, note, keyId, models, createdBy, projectId } = key;
  const words = [keyTitle(key), lastFour, note, keyId, createdBy, projectName(projectId), ...models];
  return !search || words.some((word) => word?.toLowerCase().includes(search.trim().toLowerCase()));
}

const KINDS: Record<KeyKind, (key: KeyRow, now: number) => boolean> = {
  unused: ({ lastUsedAt }) => lastUsedAt === null,
  idle: ({ lastUsedAt, createdAt }, now) => now - Date.parse(lastUsedAt ?? createdAt) > IDLE_MS,
  endless: ({ expiresAt }) => expiresAt === null,
  limited: (key) => limitWords(key).length > 0,
};

/** Columns by which the keys can be sorted. */
const SORTS = {
  name: (one: KeyRow, other: KeyRow) => keyTitle(one).localeCompare(keyTitle(other)),
  made: (one: KeyRow, other: KeyRow) => one.createdAt.localeCompare(other.createdAt),
  used: (one: KeyRow, other: KeyRow) => (one.lastUsedAt ?? '').localeCompare(other.lastUsedAt ?? ''),
};

/**
 * Returns the keys in the order of a column; `-` before its name: the largest first. The newest first without one. Amounts are compared
 * exactly.
 */
export function sortKeys(keys: readonly KeyRow[], sort = '-made', usage: ReadonlyMap<string, KeyUsage> = new Map()): KeyRow[] {
  const readCost = ({ keyId }: KeyRow): bigint => BigInt(usage.get(keyId)?.costPicoUsd ?? 0);
  const readRequests = ({ keyId }: KeyRow): number => usage.get(keyId)?.requests ?? 0;
  const compare: Record<string, (one: KeyRow, other: KeyRow) => number> = {
    ...SORTS,
    cost: (one, other) => Number(readCost(one) > readCost(other)) - Number(readCost(one) < readCost(other)),
    requests: (one, other) => readRequests(one) - readRequests(other),
  };
  const [column, direction] = sort.startsWith('-') ? [sort.slice(1), -1] : [sort, 1];
  const by = (Object.hasOwn(compare, column) && compare[column]) || SORTS.made;
  return keys.toSorted((one, other) => direction * by(one, other));
}

/** The makers of the keys, for a choice. */
export function listCreators(keys: readonly KeyRow[]): string[] {
  return [...new Set(keys.flatMap(({ createdBy }) => createdBy ?? []))].sort();
}
