import type { ReserveRequest } from '#contracts/billing/holds.js';
import { awaitAll, type PgConnection } from '#database/pg-connection.js';
import type { BudgetState } from '../budgets/budget.js';
import { assignmentsOf, type Change, type Columns, type Inputs, type Statement, statement } from '../sql/statement.js';
import type { BatchRows, Forfeit, NewEvent, Settle } from './batch.js';
import {
  BUDGET_ID,
  changeAccounts,
  changeBudgets,
  changeLimits,
  changeProjects,
  changeServices,
  changeValues,
  endHolds,
  hasRareColumns,
  openHolds,
  SETTLED_LATE,
  type WrittenBatch,
} from './batch-changes.js';

/** Writes the rows that nearly every batch has, in one statement, because each statement has a fixed cost. */
function writeBatch(name: string, hasRare: boolean): Statement<WrittenBatch, { version: string }> {
  return statement(name, (inputs) => {
    const at = inputs.value((batch) => batch.at);
    const opened = openHolds(inputs, at, hasRare);
    const parts = [endHolds(inputs, at, hasRare), changeAccounts(inputs, false), changeProjects(inputs, false)];
    return `WITH ${opened}, ${parts.map(({ changes }) => changes).join(', ')}
      SELECT pg_current_xact_id()::xid::text AS version, ${parts.map(({ demand }) => demand).join(', ')}`;
  });
}

const WRITE_BATCH = writeBatch('write_batch', false);
const WRITE_BATCH_WITH_RARE_COLUMNS = writeBatch('write_batch_with_rare_columns', true);

/** Writes rows that few batches have. */
function writeAlone(name: string, change: (inputs: Inputs<WrittenBatch>) => Change): Statement<WrittenBatch, object> {
  return statement(name, (inputs) => {
    const { changes, demand } = change(inputs);
    return `WITH ${changes} SELECT ${demand}`;
  });
}

const WRITE_BUDGETS = writeAlone('write_budgets', changeBudgets);
const WRITE_VALUES = writeAlone('write_budget_values', changeValues);
const WRITE_LIMITS = writeAlone('write_limits', changeLimits);
const WRITE_SERVICES = writeAlone('write_services', changeServices);

const TOMBSTONE: Columns<Settle> = {
  hold_id: ['uuid', (row) => row.holdId],
  account_id: ['uuid', (row) => row.accountId],
  reason: ['text', (row) => row.reason],
  upstream: ['text', (row) => row.upstream],
};

const RECORD_TOMBSTONES = statement<WrittenBatch>('record_tombstones', (inputs) => {
  const tombstones = inputs.rows(TOMBSTONE, ({ rows }) => rows.tombstones);
  return `INSERT INTO billing.settlement (${tombstones.names}, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over,
      prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, settled_at)
    SELECT s.*, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ${inputs.value(({ at }) => at)}::timestamptz FROM ${tombstones.as('s')}`;
});

const SETTLE_LATE = statement<WrittenBatch>('settle_late', (inputs) => {
  const late = inputs.rows(SETTLED_LATE, ({ rows }) => rows.late);
  return `INSERT INTO billing.late_settlement (${late.names}, settled_at)
    SELECT l.*, ${inputs.value(({ at }) => at)}::timestamptz FROM ${late.as('l')}`;
});

const FORFEIT: Columns<Forfeit> = {
  account_id: ['uuid', (row) => row.accountId],
  amount: ['numeric', (row) => row.amount],
  grant_id: ['uuid', (row) => row.grantId],
};

const FORFEIT_GRANTS = statement<WrittenBatch>('forfeit_grants', (inputs) => {
  const forfeits = inputs.rows(FORFEIT, ({ rows }) => rows.forfeits);
  return `INSERT INTO billing.movement (${forfeits.names}, kind, idempotency_key, created_at)
    SELECT f.*, 'forfeit', 'forfeit:' || grant_id, ${inputs.value(({ at }) => at)}::timestamptz FROM ${forfeits.as('f')}`;
});

const EVENT: Columns<NewEvent> = {
  account_id: ['uuid', (row) => row.accountId],
  kind: ['text', (row) => row.kind],
  payload: ['jsonb', (row) => row.payload],
};

/** In the order of the batch: the database numbers them as they come. */
const WRITE_EVENTS = statement<WrittenBatch>('write_events', (inputs) => {
  const { arrays, names } = inputs.rows(EVENT, ({ rows }) => rows.events);
  return `INSERT INTO billing.money_event (${names}, created_at) SELECT ${names}, ${inputs.value(({ at }) => at)}::timestamptz
    FROM unnest(${arrays}) WITH ORDINALITY AS e (${names}, position) ORDER BY position`;
});

const PASSED: Columns<BudgetState> = { passed: ['int2', (row) => row.passed] };

/** The thresholds that the budgets have passed: a batch that passes one has an event. */
const WRITE_PASSED = statement<WrittenBatch>('write_passed', (inputs) => {
  const budgets = inputs.rows({ ...BUDGET_ID, ...PASSED }, ({ rows }) => rows.budgets);
  return `UPDATE billing.budget b SET ${assignmentsOf(PASSED)}
    FROM ${budgets.as('s')} WHERE b.id = s.id AND b.account_id = s.payer_id`;
});

/** Statements in their order, and the rows without which each is left out. */
const STATEMENTS: readonly [statement: Statement<WrittenBatch, object>, ...needs: (keyof BatchRows)[]][] = [
  [RECORD_TOMBSTONES, 'tombstones'],
  [SETTLE_LATE, 'late'],
  [FORFEIT_GRANTS, 'forfeits'],
  [WRITE_BUDGETS, 'budgets'],
  [WRITE_VALUES, 'values'],
  [WRITE_EVENTS, 'events'],
  [WRITE_PASSED, 'events', 'budgets'],
  [WRITE_LIMITS, 'limits'],
  [WRITE_SERVICES, 'services'],
];

/**
 * Writes the rows of a fold and commits, in one round trip. If a statement fails, the server makes the COMMIT a rollback. `now` is the time
 * of the batch in milliseconds. Returns the new version of the accounts.
 */
export async function writeRows(connection: PgConnection, rows: BatchRows, now: number): Promise<string | undefined> {
  const batch = { rows, at: new Date(now).toISOString() };
  const needed = STATEMENTS.filter(([, ...needs]) => needs.every((name) => rows[name].length > 0));
  const others = needed.map(([{ execute }]) => execute(connection, batch));
  const changes = rows.settled.length + rows.opened.length + rows.accounts.length + rows.projects.length > 0;
  const write = hasRareColumns(rows) ? WRITE_BATCH_WITH_RARE_COLUMNS : WRITE_BATCH;
  const written = changes ? write.execute(connection, batch) : undefined;
  await awaitAll([...others, written ?? Promise.resolve(undefined), connection.query('COMMIT')]);
  return (await written)?.rows[0]?.version;
}

/** Writes a batch that was decided from the cache, and commits, in one round trip. Returns the new version of the accounts and the clock. */
export async function writeCached(connection: PgConnection, batch: CachedBatch): Promise<Answer | undefined> {
  const written = await statementFor(batch).execute(connection, batch);
  return written.rows[0];
}

/** A part of the statement that only some batches need, and how it is written. */
interface Part {
  readonly name: string;
  isIn(batch: CachedBatch): boolean;
  change(inputs: Inputs<CachedBatch>, at: string, hasRare: boolean): Change;
}

/**
 * Budgets and rate limits need no version of their own: every change of one writes the row of its account. What users and tags have used is
 * not cached: the statement adds to it, and fails above a limit or at a threshold.
 */
const PARTS: readonly Part[] = [
  { name: 'settles', isIn: ({ rows }) => rows.settled.length > 0, change: endHolds },
  { name: 'reserves', isIn: ({ reserves }) => reserves.length > 0, change: openNewHolds },
  { name: 'budgets', isIn: ({ rows }) => rows.budgets.length > 0, change: changeBudgets },
  { name: 'limits', isIn: ({ rows }) => rows.limits.length > 0, change: changeLimits },
  { name: 'values', isIn: ({ rows }) => rows.values.length > 0, change: changeValues },
];

const cachedStatements = new Map<string, Statement<CachedBatch, Answer>>();

/** Returns the statement with the parts that a batch needs, and no other: Postgres starts each part, also for no row. */
function statementFor(batch: CachedBatch): Statement<CachedBatch, Answer> {
  const hasRare = hasRareColumns(batch.rows);
  const parts = PARTS.filter(({ isIn }) => isIn(batch));
  const name = ['write_cached_batch', ...(hasRare ? ['rare'] : []), ...parts.map((part) => part.name)].join('_');
  const found = cachedStatements.get(name) ?? statement(name, (inputs) => writeCachedBatch(inputs, parts, hasRare));
  cachedStatements.set(name, found);
  return found;
}

/**
 * Returns the text of the statement that writes a batch that was decided from the cache: one transaction, which fails if the database has
 * changed. `billing.demand` raises when its condition is not true. Postgres evaluates the demands in their order: the first reads the result
 * of the UPDATE of the accounts, which locks them, so the others run under the lock. An UPDATE that waited for a lock compares the new row, and
 * `demand_new` takes its own snapshots, so both see what was committed meanwhile.
 *
 * The bounds of the batch's time fail a statement that arrives late, after its batch was repeated on another connection.
 */
function writeCachedBatch(inputs: Inputs<CachedBatch>, parts: readonly Part[], hasRare: boolean): string {
  const at = inputs.value((batch) => batch.at);
  const accounts = changeAccounts(inputs, true);
  const others = [changeProjects(inputs, true), ...parts.map(({ change }) => change(inputs, at, hasRare))];
  const [earlyMs, lateMs] = [inputs.value((batch) => batch.earlyMs), inputs.value((batch) => batch.lateMs)];
  return `WITH ${[accounts, ...others].map(({ changes }) => changes).join(', ')}
    SELECT ${accounts.demand},
      billing.demand(extract(epoch FROM clock_timestamp() - ${at}::timestamptz)::float8 * 1000
        BETWEEN -${earlyMs}::float8 AND ${lateMs}::float8, 'the batch is of another moment'),
      ${others.map(({ demand }) => demand).join(', ')},
      pg_current_xact_id()::xid::text AS version, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`;
}

/**
 * Opens the holds of a batch's reserves. `billing.demand_new` raises when the id of a reserve is settled, or that of a refused one open; the
 * primary key of `billing.hold` refuses a second hold of an admitted one.
 */
function openNewHolds(inputs: Inputs<CachedBatch>, at: string, hasRare: boolean): Change {
  const changes = openHolds(inputs, at, hasRare);
  const reserved = inputs.rows(RESERVED, (batch) => batch.reserves);
  const notOpened = inputs.rows(RESERVED, (batch) => batch.notOpened);
  return { changes, demand: `billing.demand_new(${reserved.arrays}, ${notOpened.arrays})` };
}

export interface CachedBatch extends WrittenBatch {
  reserves: readonly ReserveRequest[];
  /** The reserves that open no hold. */
  notOpened: readonly ReserveRequest[];
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
