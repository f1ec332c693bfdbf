import { Prisma } from '#database/prisma-client.js';

/*
 * A rotation makes a key with the same root: the first key of the rotations. Budgets and limits are of the root, and count the requests of all
 * its keys.
 */

/** SQL condition: a row `request`, of a hold or a journal, counts in a row `counter`, of a budget or a limit, that names a root or no key. */
export function isOfKey(request: string, counter: string): string {
  return `(${counter}.key_id IS NULL OR ${request}.key_id IN (
    SELECT k.id FROM billing.api_key k WHERE k.id = ${counter}.key_id OR k.root_key_id = ${counter}.key_id))`;
}

/** SQL expression: the root of the key in the column `keyId`; null if it is the key itself. */
export function rootOf(keyId: string): string {
  return `(SELECT k.root_key_id FROM billing.api_key k WHERE k.id = ${keyId})`;
}

/** Selects the keys of a root. */
export function keysOfRoot(rootKeyId: string): Prisma.Sql {
  return Prisma.sql`SELECT id FROM billing.api_key WHERE id = ${rootKeyId}::uuid OR root_key_id = ${rootKeyId}::uuid`;
}

export async function readKeysOfRoot(tx: Prisma.TransactionClient, rootKeyId: string): Promise<string[]> {
  return (await tx.$queryRaw<{ id: string }[]>`${keysOfRoot(rootKeyId)}`).map(({ id }) => id);
}
