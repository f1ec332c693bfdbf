import type { PgConnection } from '#database/pg-connection.js';
import { changeValues, DEMAND_VALUES, valueColumns } from '../budgets/read-values.js';
import { execute, plainArray, type Statement } from '../sql/pipelined-query.js';
import { type AccountCache, MOMENT_TOLERANCE_MS } from './account-cache.js';
import type { Batch, BatchRows, Committed, HoldTimes } from './batch.js';
import { foldBatch } from './fold-batch.js';
import {
  ACCOUNT_SET,
  accountColumns,
  budgetColumns,
  closeAndOpenHolds,
  hasRareColumns,
  holdColumns,
  limitColumns,
  moreColumns,
  PROJECT_SET,
  projectColumns,
  RARE_WIDTH,
  rareColumns,
  updateBudgets,
  updateLimits,
} from './write-rows.js';

/** Columns and rows that only some batches have. */
interface Part {
  readonly name: string;
  readonly width: number;
  isIn(rows: Rows): boolean;
  /** Values of `width` parameters. */
  columnsOf(rows: Rows): unknown[];
  /** Common table expressions, each with a comma after it. `from` is the number of the first parameter. */
  changes?(from: number): string;
  demands?(from: number): string;
}

/** Its columns are among those of the opened and the ended holds (`closeAndOpenHolds`). */
const RARE: Part = { name: 'rare', width: RARE_WIDTH, isIn: hasRareColumns, columnsOf: rareColumns };

/**
 * Budgets and rate limits need no version of their own: every change of one writes the row of its account. What users and tags have used is
 * not cached: the statement adds to it, and fails above a limit or at a threshold.
 */
const PARTS: readonly Part[] = [
  RARE,
  {
    name: 'budgets',
    width: 4,
    isIn: ({ budgets }) => budgets.length > 0,
    columnsOf: ({ budgets }) => budgetColumns(budgets),
    changes: (from) => `changed_budgets AS (${updateBudgets(from)} RETURNING 1),`,
    demands: (from) => `billing.demand((SELECT count(*) FROM changed_budgets) = cardinality($${from}), 'a budget was not there'),`,
  },
  {
    name: 'limits',
    width: 6,
    isIn: ({ limits }) => limits.length > 0,
    columnsOf: ({ limits }) => limitColumns(limits),
    changes: (from) => `changed_limits AS (${updateLimits(from)} RETURNING 1),`,
    demands: (from) => `billing.demand((SELECT count(*) FROM changed_limits) = cardinality($${from}), 'a rate limit was not there'),`,
  },
  {
    name: 'values',
    width: 8,
    isIn: ({ values }) => values.length > 0,
    columnsOf: ({ values }) => valueColumns(values),
    changes: (from) => `${changeValues(from)},`,
    demands: () => `${DEMAND_VALUES},`,
  },
];

/** Parameters that every batch has. */
const WIDTH = 56;
const statements = new Map<string, Statement>();

/** Returns the statement with the parts that a batch needs, and no other: Postgres starts each part, also for no row. */
function statementOf(parts: readonly Part[]): Statement {
  const name = ['write_cached_batch', ...parts.map((part) => part.name)].join('_');
  const statement = statements.get(name) ?? { name, text: writeCachedBatch(parts) };
  statements.set(name, statement);
  return statement;
}

/**
 * Returns the text of the statement that writes a batch that was decided from the cache: one transaction, which fails if the database has
 * changed. `billing.demand` raises when its condition is not true; `billing.demand_new` raises when an id to reserve is already open or
 * settled. Postgres evaluates the demands in their order. The first one locks the accounts, for which other batches wait. An UPDATE that
 * waited for a lock compares the new row, and `demand_new` takes its own snapshots, so both see what was committed meanwhile.
 *
 * The bounds of the batch's time refuse a statement that arrives late, after its batch was repeated on another connection.
 *
 * $1 is the time of the batch, $2 to $34 are `holdColumns`, $35 to $42 `accountColumns`, $43 to $46 `projectColumns`, $47 the versions of
 * the accounts, $48 those of the projects, $49 and $50 how far the batch's time may be after and before the clock, in milliseconds, $51 the
 * ids to reserve, $52 their accounts, $53 those of them that open no hold, $54 their accounts, $55 and $56 `moreColumns` of the opened
 * holds. The parameters of the parts follow.
 */
function writeCachedBatch(parts: readonly Part[]): string {
  const numbered = parts.map((part, position) => ({
    ...part,
    from: WIDTH + 1 + parts.slice(0, position).reduce((sum, { width }) => sum + width, 0),
  }));
  const changes = numbered.map(({ changes, from }) => changes?.(from) ?? '');
  const demands = numbered.map(({ demands, from }) => demands?.(from) ?? '');
  const rare = numbered.find(({ name }) => name === RARE.name)?.from;
  return `WITH changed_accounts AS (
      UPDATE billing.account a SET ${ACCOUNT_SET}
      FROM unnest($35::uuid[], $36::numeric[], $37::numeric[], $38::numeric[], $39::numeric[], $40::numeric[], $41::uuid[], $42::int4[],
          $47::xid[])
        AS s (id, topup, topup_held, plan, plan_held, expired, grant_id, open_holds, version)
      WHERE a.id = s.id AND a.xmin = s.version RETURNING 1
    ), changed_projects AS (
      UPDATE billing.project p SET ${PROJECT_SET}
      FROM unnest($43::uuid[], $44::uuid[], $45::int4[], $46::json[], $48::int8[]) AS s (id, payer_id, open_holds, request_window, version)
      WHERE p.id = s.id AND p.account_id = s.payer_id AND p.version = s.version RETURNING 1
    ), ${changes.join(' ')} ${closeAndOpenHolds('$55', '$56', rare)}
    SELECT billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($35), 'an account has changed'),
      billing.demand(extract(epoch FROM clock_timestamp() - $1::timestamptz)::float8 * 1000 BETWEEN -$49::float8 AND $50::float8,
        'the batch is of another moment'),
      billing.demand_new($51, $52, $53, $54),
      billing.demand((SELECT count(*) FROM changed_projects) = cardinality($43), 'a project has changed'),
      billing.demand((SELECT count(*) FROM settled) = cardinality($2), 'a hold to end was not there'),
      ${demands.join(' ')}
      pg_current_xact_id()::xid::text AS version, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`;
}

/**
 * Applies a batch in one round trip, decided from what earlier batches left. Returns undefined, with nothing done, when the cache lacks a
 * part or the database refuses, mostly because another replica wrote. Throws when the outcome is unknown.
 *
 * It writes every account and project that it read, changed or not, because a refusal depends on them too.
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
  // Events are rare, so that only the batches under the lock write them.
  if (applied.rows.events.length > 0) return undefined;
  const rows = {
    accounts: rowsToWrite(state.accounts, applied.rows.accounts, ({ accountId }) => accountId),
    projects: rowsToWrite(state.projects, applied.rows.projects, ({ projectId }) => projectId),
    // Ascending: all transactions lock holds in this order.
    settled: applied.rows.settled.toSorted((a, b) => (a.holdId < b.holdId ? -1 : 1)),
    opened: applied.rows.opened,
    budgets: applied.rows.budgets,
    values: applied.rows.values,
    limits: applied.rows.limits,
  };
  const values = valuesOf(batch, rows, state.now, now === undefined);
  try {
    const [answer] = await write(connection, rows, values);
    if (now === undefined && answer) cache.clock.observe(answer.now);
    cache.learn(batch, state, rows, answer?.version);
    return { ...applied, state, reserves: batch.reserves };
  } catch (error) {
    if (isRolledBack(error)) return undefined;
    throw error;
  }
}

async function write(connection: PgConnection, rows: Rows, values: unknown[]): Promise<Answer[]> {
  const parts = PARTS.filter((part) => part.isIn(rows));
  const columns = parts.flatMap((part) => part.columnsOf(rows));
  return (await execute<Answer>(connection, statementOf(parts), [...values, ...columns])).rows;
}

interface Answer {
  version: string;
  now: number;
}

type Rows = Omit<BatchRows, 'late' | 'tombstones' | 'forfeits' | 'events'>;

function valuesOf({ reserves }: Batch, rows: Rows, now: number, checksTime: boolean): unknown[] {
  const opened = new Set(rows.opened.map(({ reserve }) => reserve.holdId));
  const refused = reserves.filter(({ holdId }) => !opened.has(holdId));
  return [
    new Date(now).toISOString(),
    ...holdColumns(rows),
    ...accountColumns(rows.accounts),
    ...projectColumns(rows.projects),
    plainArray(rows.accounts.map(({ version }) => version ?? null)),
    plainArray(rows.projects.map(({ version }) => version ?? null)),
    checksTime ? 0 : Number.POSITIVE_INFINITY,
    checksTime ? MOMENT_TOLERANCE_MS : Number.POSITIVE_INFINITY,
    plainArray(reserves.map(({ holdId }) => holdId)),
    plainArray(reserves.map(({ accountId }) => accountId)),
    // The holds that the batch opens are checked by their primary key.
    plainArray(refused.map(({ holdId }) => holdId)),
    plainArray(refused.map(({ accountId }) => accountId)),
    ...moreColumns(rows.opened),
  ];
}

/** Returns every row that was read, with its changes, in ascending order: every batch locks in this order. */
function rowsToWrite<State>(read: ReadonlyMap<string, State>, changed: readonly State[], idOf: (state: State) => string): State[] {
  const all = new Map([...read, ...changed.map((state): [string, State] => [idOf(state), state])]);
  return [...all.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, state]) => state);
}

/** True when Postgres rolled the batch back: values (22), constraints (23), demands (P0). The batch is then repeated under the lock. */
function isRolledBack(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(22|23|P0)[0-9A-Z]{3}$/.test(code);
}
