import type { Database } from './write-changes.js';

/**
 * Locks the state row until the end of the transaction, so that changes of the catalog are serial over all replicas, and each reads what the
 * one before has left.
 */
export async function lockState(tx: Database): Promise<{ revision: number; startFileDigest: string | null }> {
  await tx.$queryRaw`SELECT id FROM catalog.state WHERE id = 1 FOR UPDATE`;
  return tx.catalogState.findUniqueOrThrow({ where: { id: 1 } });
}
