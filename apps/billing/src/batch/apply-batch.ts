import type { PgConnection } from '#database/pg-connection.js';
import { AccountCache, MOMENT_TOLERANCE_MS } from './account-cache.js';
import type { Batch, Committed, HoldTimes } from './batch.js';
import { foldBatch } from './fold-batch.js';
import { readState } from './read-state.js';
import { writeCached, writeRows } from './write-rows.js';

/** Settings of a lane's session: a plan that was made while a table was small must not stay in use when the table is large. */
export const LANE_SETTINGS = {
  jit: 'off',
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  // A replica that stops while it holds account locks must not block the others.
  idle_in_transaction_session_timeout: '5000',
};

/** State that the batches of each connection left in the database. A cache is valid for its connection only. */
const caches = new WeakMap<PgConnection, AccountCache>();

/**
 * Applies one batch, the only operation that moves the money of requests. A batch whose accounts are cached takes one round trip
 * (`applyCached`). Otherwise the batch locks its accounts, reads, folds, writes and commits, in two round trips; budgets, their users and
 * tags, limits, and a hold of another account each add one. A cached batch that fails is repeated this way.
 *
 * Every write to an account happens under its row lock, so replicas are serial per account. The isolation level is READ COMMITTED because
 * each statement after the lock must see what was committed before it.
 *
 * When this throws, nothing was done, unless the connection broke: then the outcome is unknown. Send the same batch again on another
 * connection; it returns what was recorded. `now` replaces the database's clock in tests.
 */
export async function applyBatch(connection: PgConnection, batch: Batch, times: HoldTimes, now?: number): Promise<Committed> {
  const cache = caches.get(connection) ?? new AccountCache();
  caches.set(connection, cache);
  return (await applyCached(connection, cache, batch, times, now)) ?? (await applyLocked(connection, cache, batch, times, now));
}

/**
 * Applies a batch in one round trip, decided from what earlier batches left. Returns undefined, with nothing done, when the cache lacks a
 * part or the database refuses, mostly because another replica wrote. Throws when the outcome is unknown.
 *
 * It writes every account and project that it read, changed or not, because a refusal depends on them too.
 */
async function applyCached(
  connection: PgConnection,
  cache: AccountCache,
  batch: Batch,
  times: HoldTimes,
  now: number | undefined,
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
    const answer = await writeCached(connection, {
      rows,
      at: new Date(state.now).toISOString(),
      reserves,
      notOpened: reserves.filter(({ holdId }) => !opened.has(holdId)),
      earlyMs: now === undefined ? 0 : Number.POSITIVE_INFINITY,
      lateMs: now === undefined ? MOMENT_TOLERANCE_MS : Number.POSITIVE_INFINITY,
    });
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

async function applyLocked(
  connection: PgConnection,
  cache: AccountCache,
  batch: Batch,
  times: HoldTimes,
  now: number | undefined,
): Promise<Committed> {
  try {
    const state = await readState(connection, batch, now);
    if (now === undefined) cache.clock.reset(state.now);
    const applied = foldBatch(state, batch, times);
    const version = await writeRows(connection, applied.rows, state.now);
    cache.learn(batch, state, applied.rows, version);
    cache.learnExceeded(state, batch.reserves, applied.outcomes.reserves);
    return { ...applied, state, reserves: batch.reserves };
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => undefined); // the server rolls back by itself when the connection breaks
    throw error;
  }
}
