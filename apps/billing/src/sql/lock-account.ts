import type { Prisma } from '#database/prisma-client.js';

/** Locks the account, for which batches wait. */
export async function lockAccount(tx: Prisma.TransactionClient, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT FROM billing.account WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`;
}
