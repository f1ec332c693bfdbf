import type { PgConnection } from '#database/pg-connection.js';
import { AccountCache } from './account-cache.js';
import { applyCached } from './apply-cached.js';
import type { Batch, Committed, HoldTimes } from './batch.js';
import { foldBatch } from './fold-batch.js';
import { readState } from './read-state.js';
import { writeRows } from './write-rows.js';

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
    cache.learnRefusals(state, batch.reserves, applied.outcomes.reserves);
    return { ...applied, state, reserves: batch.reserves };
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => undefined); // the server rolls back by itself when the connection breaks
    throw error;
  }
}
