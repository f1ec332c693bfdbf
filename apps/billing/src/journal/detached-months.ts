import type { DetachedMonth, MonthFileName } from '#contracts/billing/months.js';
import type { StoredMonth } from './closed-months.js';
import type { Query } from './month-files.js';

/** Rows and SHA-256 of files of closed months, without the rows of detached months. */
export type Remainders = Record<string, Partial<Record<MonthFileName, { rows: number; sha256: string }>>>;

export interface StoredDetachedMonth {
  id: string;
  idsBelow: string;
  /** First moment at which none of its rows counts. */
  countedTo: Date;
  settlements: number;
  lateSettlements: number;
  rests: Remainders;
  detachedAt: Date;
}

/** Reads the detached months, the first one first. */
export function readDetached(query: Query): Promise<StoredDetachedMonth[]> {
  return query<StoredDetachedMonth>(
    `SELECT id, ids_below AS "idsBelow", counted_to::timestamp AT TIME ZONE 'UTC' AS "countedTo", settlements::float8 AS settlements,
       late_settlements::float8 AS "lateSettlements", rests, detached_at AS "detachedAt" FROM billing.detached_month ORDER BY ids_below`,
    [],
  );
}

export function renderDetached({ id, settlements, lateSettlements, detachedAt }: StoredDetachedMonth): DetachedMonth {
  const tables = ['settlement', 'late_settlement'].map((journal) => `detached.${journal}_${id.replace('-', '_')}`);
  return { month: id, tables, settlements, lateSettlements, detachedAt: detachedAt.toISOString() };
}

/** Returns the digest that a file of a closed month has now: that of its seal, or of what detached months have left of it. */
export function digestNow(
  { id, manifest }: StoredMonth,
  file: MonthFileName,
  detached: readonly StoredDetachedMonth[],
): string | undefined {
  return (detached.at(-1)?.rests[id]?.[file] ?? manifest?.files.find((one) => one.file === file))?.sha256;
}

/** Digests the sums of a detached month; $1 is the month. */
export const SUMS_DIGEST = `SELECT encode(sha256(convert_to(coalesce(string_agg(line, E'\\n' ORDER BY line COLLATE "C"), ''), 'UTF8')), 'hex')
  FROM (SELECT concat_ws(' ', account_id, change, topup_change) AS line FROM billing.detached_account WHERE month = $1
    UNION ALL SELECT concat_ws(' ', grant_id, account_id, gone) FROM billing.detached_grant WHERE month = $1) sums`;

/** Compares the detached months with the audit journal and, with `full`, their sums with their digests. Returns what differs. */
export async function detachedFaults(query: Query, full: boolean): Promise<string[]> {
  const differing = await query<{ id: string }>(
    `SELECT coalesce(a.id, d.id) AS id FROM billing.detached_month d FULL JOIN (
       SELECT DISTINCT ON (target) substring(target FROM 7) AS id, action, after FROM billing.audit
       WHERE action IN ('month.detach', 'month.attach') ORDER BY target, at DESC, id DESC) a ON a.id = d.id
     WHERE CASE WHEN d.id IS NULL THEN a.action = 'month.detach'
       ELSE (a.action = 'month.detach' AND a.after = to_jsonb(d) - 'detached_at') IS NOT TRUE END ORDER BY 1`,
    [],
  );
  const changed = full
    ? await query<{ id: string }>(
        `SELECT id FROM billing.detached_month d WHERE sums_digest <> (${SUMS_DIGEST.replaceAll('$1', 'd.id')}) ORDER BY id`,
        [],
      )
    : [];
  return [...differing.map(({ id }) => `${id} detached`), ...changed.map(({ id }) => `${id} detached sums`)];
}
