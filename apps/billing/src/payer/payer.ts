import type { Attribution } from '#contracts/billing/attribution.js';
import type { ReserveRequest } from '#contracts/billing/holds.js';

/** The account, project and key that a request counts for, and its attribution. */
export interface Payer {
  accountId: string;
  projectId: string;
  /** First key of the rotations that made its key: they share budgets and limits. */
  rootKeyId: string;
  attribution?: Attribution | undefined;
  /** The most that a reserve lets its session cost, in pico-USD. Absent: what budgets allow. */
  sessionLimit?: bigint;
  /** The most that a reserve lets each child key of its chain cost. Absent: what budgets allow. */
  childLimits?: bigint[];
}

/** Returns what a request counts for. A key that is not known counts for itself. */
export function toPayer(
  {
    accountId,
    projectId,
    keyId,
    attribution,
    sessionLimitPicoUsd,
    childLimitsPicoUsd,
  }: Pick<ReserveRequest, 'accountId' | 'projectId' | 'keyId' | 'attribution' | 'sessionLimitPicoUsd' | 'childLimitsPicoUsd'>,
  key: { rootKeyId: string } | undefined,
): Payer {
  const payer: Payer = { accountId, projectId, rootKeyId: key?.rootKeyId ?? keyId, attribution };
  if (sessionLimitPicoUsd !== undefined) payer.sessionLimit = BigInt(sessionLimitPicoUsd);
  if (childLimitsPicoUsd !== undefined) payer.childLimits = childLimitsPicoUsd.map(BigInt);
  return payer;
}

/** Returns the ids whose budgets and limits count a request, the widest first: the account, the project and the first key. */
export function listTargets({ accountId, projectId, rootKeyId }: Payer): string[] {
  return [...new Set([accountId, projectId, rootKeyId])];
}
