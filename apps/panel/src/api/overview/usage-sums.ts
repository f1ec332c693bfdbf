import type { UsageRow } from '#contracts/billing/usage.js';
import type { UsageSums } from '../../shapes/overview.js';

/** Rows of each list of the largest spenders. */
const TOP = 10;

export function mostExpensive(rows: readonly UsageRow[]): UsageRow[] {
  return rows.toSorted((one, other) => Number(BigInt(other.costPicoUsd) - BigInt(one.costPicoUsd))).slice(0, TOP);
}

/** Returns the sums of rows. Amounts are exact; counts are exact up to 2^53. */
export function sumUsage(rows: readonly UsageRow[]): UsageSums {
  const count = (of: (row: UsageRow) => number): number => rows.reduce((sum, row) => sum + of(row), 0);
  const amount = (of: (row: UsageRow) => string): string => String(rows.reduce((sum, row) => sum + BigInt(of(row)), 0n));
  return {
    requests: count(({ requests }) => requests),
    estimatedRequests: count(({ estimatedRequests }) => estimatedRequests),
    promptTokens: count(({ promptTokens }) => promptTokens),
    cachedTokens: count(({ cachedTokens }) => cachedTokens),
    outputTokens: count(({ outputTokens }) => outputTokens),
    reasoningTokens: count(({ reasoningTokens }) => reasoningTokens),
    costPicoUsd: amount(({ costPicoUsd }) => costPicoUsd),
    forfeitedPicoUsd: amount(({ forfeitedPicoUsd }) => forfeitedPicoUsd),
  };
}
