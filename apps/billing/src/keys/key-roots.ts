import type { PgConnection } from '#database/pg-connection.js';
import { Prisma } from '#database/prisma-client.js';
import { execute, plainArray } from '../holds/pipelined-query.js';

/*
 * A rotation makes a key with the same root: the first key of the rotations. Budgets and limits are of the root, and count the requests of all
 * its keys.
 */

/** SQL condition: a row `request`, of a hold or a journal, counts in a row `counter`, of a budget or a limit, that names a root or no key. */
export function isOfKey(request: string, counter: string): string {
  return `(${counter}.key_id IS NULL OR ${request}.key_id IN (
    SELECT k.id FROM billing.api_key k WHERE k.id = ${counter}.key_id OR k.root_key_id = ${counter}.key_id))`;
}

/** Selects the keys of a root. */
export function keysOfRoot(rootKeyId: string): Prisma.Sql {
  return Prisma.sql`SELECT id FROM billing.api_key WHERE id = ${rootKeyId}::uuid OR root_key_id = ${rootKeyId}::uuid`;
}

export async function readKeysOfRoot(tx: Prisma.TransactionClient, rootKeyId: string): Promise<string[]> {
  return (await tx.$queryRaw<{ id: string }[]>`${keysOfRoot(rootKeyId)}`).map(({ id }) => id);
}

const READ_ROOTS = {
  name: 'read_roots',
  text: 'SELECT id, root_key_id FROM billing.api_key WHERE id = ANY ($1::uuid[]) AND root_key_id IS NOT NULL',
};

/** Sets the root of the keys of holds, which have the key itself there. */
export async function readRoots(connection: PgConnection, holds: readonly { rootKeyId: string }[]): Promise<void> {
  if (holds.length === 0) return;
  const keyIds = [...new Set(holds.map(({ rootKeyId }) => rootKeyId))];
  const { rows } = await execute<{ id: string; root_key_id: string }>(connection, READ_ROOTS, [plainArray(keyIds)]);
  const roots = new Map(rows.map((row) => [row.id, row.root_key_id]));
  for (const hold of holds) hold.rootKeyId = roots.get(hold.rootKeyId) ?? hold.rootKeyId;
}
