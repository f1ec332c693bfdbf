import { isJoined } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { DETACHED_TO } from './usage-entries.js';

/** Milliseconds for all statements, each of which has a shorter limit of its own. */
const TRANSACTION_TIMEOUT_MS = 25_000;

/** Extent of the rollups. */
export interface UsageState {
  /** Journal rows with a lower transaction id are in the rollups, all others are not. */
  closedTo: bigint;
  /** Time of the newest settlement in the rollups. */
  newestAt: Date | null;
  /** See `DETACHED_TO`. */
  detachedTo: Date | null;
}

/**
 * Runs queries of rollups and journal in one snapshot: a slice that moves from one to the other meanwhile is counted once. The extent is read
 * first because the index on transaction ids needs it as a value of the query.
 */
export function inUsageSnapshot<Result>(
  prisma: PrismaClient,
  work: (snapshot: Prisma.TransactionClient, state: UsageState) => Promise<Result>,
): Promise<Result> {
  // A transaction that joins another has no snapshot of its own, so that it keeps the rollups as they are until its end: no slice is added.
  if (isJoined(prisma)) return prisma.$transaction((tx) => readIn(tx, Prisma.sql`FOR SHARE`, work));
  return prisma.$transaction((snapshot) => readIn(snapshot, Prisma.empty, work), {
    isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead,
    timeout: TRANSACTION_TIMEOUT_MS,
  });
}

async function readIn<Result>(
  tx: Prisma.TransactionClient,
  lock: Prisma.Sql,
  work: (snapshot: Prisma.TransactionClient, state: UsageState) => Promise<Result>,
): Promise<Result> {
  const [state] = await tx.$queryRaw<UsageState[]>`SELECT closed_to AS "closedTo", newest_at AS "newestAt",
    ${Prisma.raw(DETACHED_TO)} AS "detachedTo" FROM billing.usage_state ${lock}`;
  if (!state) throw new TypeError('billing.usage_state has no row');
  return work(tx, state);
}
