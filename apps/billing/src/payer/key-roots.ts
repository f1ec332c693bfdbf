import { Prisma } from '#database/prisma-client.js';

/*
 * Rotating a key creates another with the same root, which is the first key of the rotations. Budgets and limits name the root and count
 * the requests of all its keys.
 */

/**
 * SQL condition: true when the counter (of a budget or limit) applies to the request (of a hold or journal row), because it names the same
 * root key or none.
 */
export function appliesToKey(request: string, counter: string): string {
  return `(${counter}.key_id IS NULL OR ${request}.key_id IN (
    SELECT k.id FROM billing.api_key k WHERE k.id = ${counter}.key_id OR k.root_key_id = ${counter}.key_id))`;
}

/** SQL expression of the root of the key in the column `keyId`; null when that key is the root. */
export function selectRoot(keyId: string): string {
  return `(SELECT k.root_key_id FROM billing.api_key k WHERE k.id = ${keyId})`;
}

/** SQL query of the ids of a root and of all keys rotated from it. */
export function selectRootKeys(rootKeyId: string): Prisma.Sql {
  return Prisma.sql`SELECT id FROM billing.api_key WHERE id = ${rootKeyId}::uuid OR root_key_id = ${rootKeyId}::uuid`;
}

export async function readRootKeys(tx: Prisma.TransactionClient, rootKeyId: string): Promise<string[]> {
  return (await tx.$queryRaw<{ id: string }[]>`${selectRootKeys(rootKeyId)}`).map(({ id }) => id);
}
