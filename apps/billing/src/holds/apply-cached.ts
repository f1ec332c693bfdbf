import type { PgConnection } from '#database/pg-connection.js';
import { type AccountCache, MOMENT_TOLERANCE_MS } from './account-cache.js';
import type { AccountState, Batch, Committed, HoldTimes, OpenedHold, ProjectState, Settlement } from './batch.js';
import { foldBatch } from './fold-batch.js';
import { execute, plainArray } from './pipelined-query.js';
import { ACCOUNT_SET, accountColumns, CLOSE_AND_OPEN_HOLDS, holdColumns, PROJECT_SET, projectColumns } from './write-rows.js';

/**
 * Writes a batch that was decided from memory, if that is still what the database has: one statement, and so one transaction. The demands
 * are evaluated in their order. The first takes the locks of the accounts, which every other batch of them waits for. An UPDATE that has
 * waited for a lock compares the row as it is then, and `demand_new` has snapshots of its own, so both see what was committed
 * meanwhile.
 *
 * The limits of the moment also stop a statement that is late: one whose batch has been repeated on another connection by then.
 */
const WRITE_CACHED_BATCH = {
  name: 'write_cached_batch',
  text: `WITH changed_accounts AS (
      UPDATE billing.account a SET ${ACCOUNT_SET}
      FROM unnest($33::uuid[], $34::numeric[], $35::numeric[], $36::numeric[], $37::numeric[], $38::numeric[], $39::uuid[], $40::int4[],
          $44::xid[])
        AS s (id, topup, topup_held, plan, plan_held, expired, grant_id, open_holds, version)
      WHERE a.id = s.id AND a.xmin = s.version RETURNING 1
    ), changed_projects AS (
      UPDATE billing.project p SET ${PROJECT_SET}
      FROM unnest($41::uuid[], $42::int4[], $43::json[], $45::int8[]) AS s (id, open_holds, request_window, version)
      WHERE p.id = s.id AND p.version = s.version RETURNING 1
    ), ${CLOSE_AND_OPEN_HOLDS}
    SELECT billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($33), 'an account has changed'),
      billing.demand(extract(epoch FROM clock_timestamp() - $1::timestamptz)::float8 * 1000 BETWEEN -$46::float8 AND $47::float8,
        'the batch is of another moment'),
      billing.demand_new($48, $49),
      billing.demand((SELECT count(*) FROM changed_projects) = cardinality($41), 'a project has changed'),
      billing.demand((SELECT count(*) FROM settled) = cardinality($2), 'a hold to end was not there'),
      pg_current_xact_id()::xid::text AS version, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`,
};

/**
 * Applies a batch in one round trip, decided from what the batches before have left. Returns undefined, and has done nothing, if not all of
 * it is known or the database has refused it, mostly because another replica was there. Throws when it is unknown whether it was done.
 *
 * It writes every account and project it was decided from, whether they change or not: a refusal depends on them too.
 */
export async function applyCached(
  connection: PgConnection,
  cache: AccountCache,
  batch: Batch,
  times: HoldTimes,
  now?: number,
): Promise<Committed | undefined> {
  const moment = now ?? cache.clock.now();
  const state = moment === undefined ? undefined : cache.stateOf(batch, moment);
  if (!state) return undefined;
  const applied = foldBatch(state, batch, times);
  const rows = {
    accounts: written(state.accounts, applied.rows.accounts, ({ accountId }) => accountId),
    projects: written(state.projects, applied.rows.projects, ({ projectId }) => projectId),
    // Ascending, as renewals and locked batches lock them.
    settled: applied.rows.settled.toSorted((a, b) => (a.holdId < b.holdId ? -1 : 1)),
    opened: applied.rows.opened,
  };
  try {
    const { rows: answers } = await execute<Answer>(connection, WRITE_CACHED_BATCH, valuesOf(batch, rows, state.now, now === undefined));
    const [answer] = answers;
    if (now === undefined && answer) cache.clock.read(answer.now);
    cache.learn(batch, state, rows, answer?.version);
    return { ...applied, state, reserves: batch.reserves };
  } catch (error) {
    if (isRefused(error)) return undefined;
    throw error;
  }
}

interface Answer {
  version: string;
  now: number;
}

interface Rows {
  accounts: AccountState[];
  projects: ProjectState[];
  settled: Settlement[];
  opened: OpenedHold[];
}

function valuesOf({ reserves }: Batch, rows: Rows, now: number, isClock: boolean): unknown[] {
  const opened = new Set(rows.opened.map(({ reserve }) => reserve.holdId));
  const reserved = reserves.map(({ holdId }) => holdId);
  return [
    new Date(now).toISOString(),
    ...holdColumns(rows),
    ...accountColumns(rows.accounts),
    ...projectColumns(rows.projects),
    plainArray(rows.accounts.map(({ version }) => version ?? null)),
    plainArray(rows.projects.map(({ version }) => version ?? null)),
    isClock ? 0 : Number.POSITIVE_INFINITY,
    isClock ? MOMENT_TOLERANCE_MS : Number.POSITIVE_INFINITY,
    plainArray(reserved),
    plainArray(reserved.filter((holdId) => !opened.has(holdId))),
  ];
}

/** All that were read, as the batch leaves them; in ascending order, in which every batch takes its locks. */
function written<State>(read: ReadonlyMap<string, State>, changed: readonly State[], idOf: (state: State) => string): State[] {
  const all = new Map([...read, ...changed.map((state): [string, State] => [idOf(state), state])]);
  return [...all.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, state]) => state);
}

/** True for what Postgres has undone: values (22), constraints (23), demands (P0). The locked batch says whether it can be done. */
function isRefused(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(22|23|P0)[0-9A-Z]{3}$/.test(code);
}
