import type { TenantChange } from '#contracts/billing/tenants.js';
import { audited } from '#database/audit-journal.js';
import { type Mark, removeMarks, type StoredMark, writeMarks } from '../managed/marks.js';
import type { Applying, Planning } from './planning.js';

/**
 * Compares the marks of an account with what the wanted state names. New things get theirs without a change of their own; what was there
 * already is taken over, and what the file no longer names is released, which is a change.
 */
export function planMarks(planning: Planning): void {
  const { accountId, source, owned, state } = planning;
  if (source === undefined) return;
  const stored = new Map((state?.marks ?? []).map((mark) => [renderMark(mark), mark]));
  const missing = owned.filter((mark) => stored.get(renderMark(mark))?.source !== source);
  const taken = missing.filter(({ isNew }) => !isNew);
  const named = new Set(owned.map(renderMark));
  const released = (state?.marks ?? []).filter((mark) => mark.source === source && !named.has(renderMark(mark)));
  const before = [...stored.values()].filter((mark) => mark.source === source).length;
  const change: TenantChange = {
    ...{ action: 'change', kind: 'mark', name: source },
    fields: [{ field: 'parts', before, after: before + missing.length - released.length }],
  };
  planning.notes.push(...describeOwners(taken, stored));
  planning.marking = {
    change: taken.length + released.length > 0 ? change : undefined,
    run: (applying) => run(applying, { accountId, source, missing, released, change }, taken.length + released.length > 0),
  };
}

interface Marking {
  accountId: string;
  source: string;
  missing: readonly Mark[];
  released: readonly Mark[];
  change: TenantChange;
}

async function run(
  { joined, author }: Applying,
  { accountId, source, missing, released, change }: Marking,
  isShown: boolean,
): Promise<void> {
  const [field] = change.fields;
  const fields = (parts: unknown) => ({ managedBy: source, parts });
  const row = { action: 'account.update', accountId, target: `account/${accountId}`, reason: null };
  await audited(joined, 'billing', author, async (tx) => {
    await removeMarks(tx, released);
    await writeMarks(tx, accountId, source, missing);
    return { result: undefined, change: isShown ? { ...row, before: fields(field?.before), after: fields(field?.after) } : null };
  });
}

function describeOwners(taken: readonly Mark[], stored: ReadonlyMap<string, StoredMark>): string[] {
  const others = taken.flatMap((mark) => stored.get(renderMark(mark))?.source ?? []);
  return [...Map.groupBy(others, (source) => source)].map(
    ([source, parts]) => `${parts.length} of its parts are taken over from ${source}`,
  );
}

function renderMark({ kind, id }: Mark): string {
  return `${kind}/${id}`;
}
