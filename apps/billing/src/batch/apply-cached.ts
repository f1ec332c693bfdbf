import type { ReserveRequest } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { changeValues } from '../budgets/read-values.js';
import { type Change, type Columns, type Inputs, type Statement, statement } from '../sql/statement.js';
import { type AccountCache, MOMENT_TOLERANCE_MS } from './account-cache.js';
import type { Batch, BatchRows, Committed, HoldTimes } from './batch.js';
import { changeAccounts, changeBudgets, changeHolds, changeLimits, changeProjects, type WrittenBatch } from './batch-changes.js';
import { foldBatch } from './fold-batch.js';
import { hasRareColumns } from './hold-columns.js';

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
  const state = moment === undefined ? undefined : cache.readState(batch, moment);
  if (!state) return undefined;
  const applied = foldBatch(state, batch, times);
  // Only batches under the lock write the events of `decideEvents`: they are rare. Triggers write theirs here as well.
  if (applied.rows.events.length > 0) return undefined;
  const rows = {
    ...applied.rows,
    accounts: rowsToWrite(state.accounts, applied.rows.accounts, ({ accountId }) => accountId),
    projects: rowsToWrite(state.projects, applied.rows.projects, ({ projectId }) => projectId),
    // Ascending: all transactions lock holds in this order.
    settled: applied.rows.settled.toSorted((a, b) => (a.holdId < b.holdId ? -1 : 1)),
  };
  const opened = new Set(rows.opened.map(({ reserve }) => reserve.holdId));
  const { reserves } = batch;
  try {
    const written = await statementFor(rows).execute(connection, {
      rows,
      at: new Date(state.now).toISOString(),
      reserves,
      refused: reserves.filter(({ holdId }) => !opened.has(holdId)),
      earlyMs: now === undefined ? 0 : Number.POSITIVE_INFINITY,
      lateMs: now === undefined ? MOMENT_TOLERANCE_MS : Number.POSITIVE_INFINITY,
    });
    const [answer] = written.rows;
    if (now === undefined && answer) cache.clock.observe(answer.now);
    cache.learn(batch, state, rows, answer?.version);
    return { ...applied, state, reserves };
  } catch (error) {
    if (isRolledBack(error)) return undefined;
    throw error;
  }
}

/** Returns every row that was read, with its changes, in ascending order: every batch locks in this order. */
function rowsToWrite<State>(read: ReadonlyMap<string, State>, changed: readonly State[], readId: (state: State) => string): State[] {
  const all = new Map([...read, ...changed.map((state): [string, State] => [readId(state), state])]);
  return [...all.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, state]) => state);
}

/** True when Postgres rolled the batch back: values (22), constraints (23), demands (P0). The batch is then repeated under the lock. */
function isRolledBack(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(22|23|P0)[0-9A-Z]{3}$/.test(code);
}

/** Columns and rows that only some batches have. */
interface Part {
  readonly name: string;
  isIn(rows: BatchRows): boolean;
  change?(inputs: Inputs<WrittenBatch>): Change;
}

/** Its columns are among those of the opened and the ended holds. */
const RARE: Part = { name: 'rare', isIn: hasRareColumns };

/**
 * Budgets and rate limits need no version of their own: every change of one writes the row of its account. What users and tags have used is
 * not cached: the statement adds to it, and fails above a limit or at a threshold.
 */
const PARTS: readonly Part[] = [
  RARE,
  { name: 'budgets', isIn: ({ budgets }) => budgets.length > 0, change: changeBudgets },
  { name: 'limits', isIn: ({ limits }) => limits.length > 0, change: changeLimits },
  { name: 'values', isIn: ({ values }) => values.length > 0, change: changeValues },
];

const statements = new Map<string, Statement<CachedBatch, Answer>>();

/** Returns the statement with the parts that a batch needs, and no other: Postgres starts each part, also for no row. */
function statementFor(rows: BatchRows): Statement<CachedBatch, Answer> {
  const parts = PARTS.filter((part) => part.isIn(rows));
  const name = ['write_cached_batch', ...parts.map((part) => part.name)].join('_');
  const found = statements.get(name) ?? statement(name, (inputs) => writeCachedBatch(inputs, parts));
  statements.set(name, found);
  return found;
}

/**
 * Returns the text of the statement that writes a batch that was decided from the cache: one transaction, which fails if the database has
 * changed. `billing.demand` raises when its condition is not true. `billing.demand_new` raises when the id of a reserve is settled, or that of a
 * refused one open; the primary key of `billing.hold` refuses a second hold of an admitted one. Postgres evaluates the demands in their order:
 * the first reads the result of the UPDATE of the accounts, which locks them, so the others run under the lock. An UPDATE that waited for a
 * lock compares the new row, and `demand_new` takes its own snapshots, so both see what was committed meanwhile.
 *
 * The bounds of the batch's time fail a statement that arrives late, after its batch was repeated on another connection.
 */
function writeCachedBatch(inputs: Inputs<CachedBatch>, parts: readonly Part[]): string {
  const at = inputs.value((batch) => batch.at);
  const holds = changeHolds(inputs, at, parts.includes(RARE));
  const accounts = changeAccounts(inputs, true);
  const projects = changeProjects(inputs, true);
  const others = parts.flatMap((part) => part.change?.(inputs) ?? []);
  const [earlyMs, lateMs] = [inputs.value((batch) => batch.earlyMs), inputs.value((batch) => batch.lateMs)];
  const reserved = inputs.rows(RESERVED, (batch) => batch.reserves);
  const refused = inputs.rows(RESERVED, (batch) => batch.refused);
  return `WITH ${[accounts, projects, ...others, holds].map(({ changes }) => changes).join(', ')}
    SELECT ${accounts.demand},
      billing.demand(extract(epoch FROM clock_timestamp() - ${at}::timestamptz)::float8 * 1000
        BETWEEN -${earlyMs}::float8 AND ${lateMs}::float8, 'the batch is of another moment'),
      billing.demand_new(${reserved.arrays}, ${refused.arrays}),
      ${[projects, holds, ...others].map(({ demand }) => demand).join(', ')},
      pg_current_xact_id()::xid::text AS version, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`;
}

interface CachedBatch extends WrittenBatch {
  reserves: readonly ReserveRequest[];
  /** The reserves that open no hold. */
  refused: readonly ReserveRequest[];
  /** Milliseconds that the batch's time may be after the database's clock (early), and before it (late). */
  earlyMs: number;
  lateMs: number;
}

const RESERVED: Columns<ReserveRequest> = {
  hold_id: ['uuid', (row) => row.holdId],
  account_id: ['uuid', (row) => row.accountId],
};

interface Answer {
  version: string;
  now: number;
}
