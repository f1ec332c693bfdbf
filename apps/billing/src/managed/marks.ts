import type { Prisma, PrismaClient } from '#database/prisma-client.js';

type Tx = Prisma.TransactionClient | PrismaClient;

/** Kinds of things that a tenants file can own. */
export type ManagedKind = 'account' | 'project' | 'key' | 'budget' | 'webhook';

/** A thing that a tenants file owns. The id of a key is that of the first of its rotations. */
export interface Mark {
  kind: ManagedKind;
  id: string;
}

export interface StoredMark extends Mark {
  accountId: string;
  source: string;
}

/** Adds `managedBy` to the rows of a list, where a tenants file owns them. */
export async function addMarks<Row extends object>(
  tx: Tx,
  kind: ManagedKind,
  rows: readonly Row[],
  readId: (row: Row) => string,
): Promise<(Row & { managedBy?: string })[]> {
  if (rows.length === 0) return [];
  const marks = await tx.managed.findMany({ where: { kind, id: { in: rows.map(readId) } }, select: { id: true, source: true } });
  const sources = new Map(marks.map(({ id, source }) => [id, source]));
  return rows.map((row) => {
    const managedBy = sources.get(readId(row));
    return managedBy === undefined ? row : { ...row, managedBy };
  });
}

export async function readMarks(tx: Tx, accountIds: string[]): Promise<StoredMark[]> {
  return (await tx.managed.findMany({ where: { accountId: { in: accountIds } } })) as StoredMark[];
}

/** Returns the ids of the accounts that the tenants file of a source owns. */
export async function listManagedAccounts(tx: Tx, source: string): Promise<string[]> {
  return (await tx.managed.findMany({ where: { kind: 'account', source }, select: { id: true } })).map(({ id }) => id);
}

/** Makes the source the owner of these things, whichever was before. */
export async function writeMarks(tx: Tx, accountId: string, source: string, marks: readonly Mark[]): Promise<void> {
  if (marks.length === 0) return;
  const [kinds, ids] = [marks.map(({ kind }) => kind), marks.map(({ id }) => id)];
  await tx.$executeRaw`INSERT INTO billing.managed (kind, id, account_id, source)
    SELECT kind, id, ${accountId}::uuid, ${source} FROM unnest(${kinds}::text[], ${ids}::uuid[]) AS marked (kind, id)
    ON CONFLICT (kind, id) DO UPDATE SET source = excluded.source, account_id = excluded.account_id`;
}

export async function removeMarks(tx: Tx, marks: readonly Mark[]): Promise<void> {
  if (marks.length === 0) return;
  const [kinds, ids] = [marks.map(({ kind }) => kind), marks.map(({ id }) => id)];
  await tx.$executeRaw`DELETE FROM billing.managed USING unnest(${kinds}::text[], ${ids}::uuid[]) AS gone (kind, id)
    WHERE managed.kind = gone.kind AND managed.id = gone.id`;
}
