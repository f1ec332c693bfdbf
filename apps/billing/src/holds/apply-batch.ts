import type { PgConnection } from '#database/pg-connection.js';
import { AccountCache } from './account-cache.js';
import { applyCached } from './apply-cached.js';
import type { Batch, Committed, HoldTimes } from './batch.js';
import { foldBatch } from './fold-batch.js';
import { readState } from './read-state.js';
import { writeRows } from './write-rows.js';

/** What a lane's session needs: plans that do not depend on how large a table was when they were made (billing.md 3). */
export const LANE_SETTINGS = {
  jit: 'off',
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  // A replica that stops while it holds account locks must not stop the others.
  idle_in_transaction_session_timeout: '5000',
};

/** A replica's memory of what its batches have left, by the connection that it is valid for. */
const caches = new WeakMap<PgConnection, AccountCache>();

/**
 * The one operation that moves money of requests. Where this connection's batches have left all that a batch needs, it takes one round trip
 * (`applyCached`); otherwise it locks the batch's accounts, reads, folds, writes, commits, in two. All writes of an account happen
 * under its row lock, so replicas are serial per account. READ COMMITTED on purpose: each statement after the lock sees what was
 * committed before it.
 *
 * Nothing was done if it throws, except when the connection broke: then sending the same batch again, on another connection, is answered
 * with what was recorded. `now` replaces the database's clock in tests.
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
    if (now === undefined) cache.clock.set(state.now);
    const applied = foldBatch(state, batch, times);
    const version = await writeRows(connection, applied.rows, state.now);
    cache.learn(batch, state, applied.rows, version);
    return { ...applied, state, reserves: batch.reserves };
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => undefined); // on a broken connection the server does so by itself
    throw error;
  }
}
