import type { Messaging } from '#messaging/messaging.js';
import { listRows, type NamedRow, type Resource, type Scope } from './id-lists.js';

/** Returns what a table shows for an id: the name, or else a start of the id. Null stays null. */
export type Names = <Id extends string | null>(resource: Resource, id: Id) => Id;

/**
 * Reads the names of resources. A name that several rows have is followed by what tells them apart. Names that cannot be read, or are too
 * many, are left out, because a table is of use without them.
 */
export async function readNames(messaging: Messaging, resources: readonly Resource[], scope: Scope = {}): Promise<Names> {
  const lists = await Promise.all(
    resources.map(async (resource) => {
      const { rows } = await listRows(resource, messaging, resource === 'account' ? {} : scope).catch(() => ({ rows: [] }));
      return [resource, labelRows(rows)] as const;
    }),
  );
  const labels = new Map(lists);
  return (resource, id) => (id === null ? id : ((labels.get(resource)?.get(id) ?? shortenId(id)) as typeof id));
}

function labelRows(rows: readonly NamedRow[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of rows) if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    rows.map(({ id, name, lastFour }) => {
      const rest = lastFour === undefined ? shortenId(id) : `…${lastFour}`;
      if (name === null) return [id, rest];
      return [id, counts.get(name) === 1 ? name : `${name} (${rest})`];
    }),
  );
}

/** Returns the start of an id up to its milliseconds: ids begin with their time. */
export function shortenId(id: string): string {
  return id.slice(0, '0190a6f0-7c1e'.length);
}

/** Returns the column of a table with the shortened ids of its rows. */
export function idColumn<Row>(rows: readonly Row[], readId: (row: Row) => string): { ID: (row: Row) => string } {
  const shorten = shortenIds(rows.map(readId));
  return { ID: (row) => shorten(readId(row)) };
}

/** Returns a function that shortens ids to a start that no other of them has. */
export function shortenIds(ids: readonly string[]): (id: string) => string {
  const whole = new Set(ids);
  let length = 8;
  while (length < 36 && new Set([...whole].map((id) => id.slice(0, length))).size < whole.size) length++;
  return (id) => id.slice(0, length);
}
