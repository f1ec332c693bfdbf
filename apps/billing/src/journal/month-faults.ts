import { MONTH_FILE_NAMES, type MonthFileName } from '#contracts/billing/months.js';
import { findMonthRows, readMonths, type StoredMonth } from './closed-months.js';
import { detachedFaults, digestNow, readDetached, type StoredDetachedMonth } from './detached-months.js';
import { monthAfter } from './journal-rows.js';
import { digestFile, type Query, SUM_FILES } from './month-files.js';

export const MONTHS_RULE = { id: 'I15', rule: 'a closed month is what it was when it was closed' };

/**
 * Compares closed months with their digests, the digests with each other and with the audit journal, and detached months with the audit
 * journal. Reads the sums of the last month, and with `full` every file of every month. Returns what differs.
 */
export async function monthFaults(
  query: Query,
  { full = false, signal }: { full?: boolean; signal?: AbortSignal } = {},
): Promise<string[]> {
  const [months, detached] = [await readMonths(query), await readDetached(query)];
  const audited = await query<{ id: string; digest: string | null }>(
    `SELECT substring(target FROM 7) AS id, after ->> 'digest' AS digest FROM billing.audit WHERE action = 'month.close' AND target LIKE 'month/%'`,
    [],
  );
  const digests = new Map(audited.map(({ id, digest }) => [id, digest]));
  const faults = audited.filter(({ id }) => !months.some((month) => month.id === id)).map(({ id }) => `${id} is missing`);
  faults.push(...[...digests.keys()].filter((id) => audited.filter((one) => one.id === id).length > 1).map((id) => `${id} closed twice`));
  for (const [position, month] of months.entries()) {
    if (!isSealed(month, months[position - 1]) || digests.get(month.id) !== month.digest) faults.push(`${month.id} manifest`);
    const files = full ? MONTH_FILE_NAMES : position === months.length - 1 ? SUM_FILES : [];
    for (const file of files) if (await differs(query, { months, position, detached }, file, signal)) faults.push(`${month.id} ${file}`);
  }
  return [...faults, ...(await detachedFaults(query, full))];
}

/** True when the manifest is that of the month, and follows the one before. */
function isSealed({ id, manifest }: StoredMonth, before: StoredMonth | undefined): boolean {
  return manifest?.month === id && manifest.before === (before?.digest ?? '') && (!before || monthAfter(before.id) === id);
}

async function differs(
  query: Query,
  { months, position, detached }: { months: readonly StoredMonth[]; position: number; detached: readonly StoredDetachedMonth[] },
  file: MonthFileName,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const [month, rows] = [months[position], findMonthRows(months, position)];
  if (!month || !rows) return false; // the fault of its manifest is reported
  if (!month.manifest?.files.some((one) => one.file === file)) return false; // closed before the file was added
  return digestNow(month, file, detached) !== (await digestFile(query, file, rows, signal)).sha256;
}
