import { ServiceError } from '#contracts/service-error.js';
import type { Prisma } from '#database/prisma-client.js';

/**
 * Demands that no account, project or key has the id of another one: limits are kept by the id of their target, and callers choose ids.
 * Call it after the row was added.
 * @throws {ServiceError} `conflict`.
 */
export async function demandOwnId(tx: Prisma.TransactionClient, id: string, param: string): Promise<void> {
  const where = { id };
  const rows = (await tx.account.count({ where })) + (await tx.project.count({ where })) + (await tx.apiKey.count({ where }));
  if (rows > 1) throw new ServiceError('conflict', 'This id belongs to another account, project or key.', param);
}
