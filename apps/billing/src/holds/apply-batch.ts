import type { PgConnection } from '#database/pg-connection.js';
import type { Batch, Committed, Terms } from './batch.js';
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

/**
 * The one operation that moves money of requests: locks the batch's accounts, reads, folds, writes, commits; two round
 * trips. All writes of an account happen under its row lock, so replicas are serial per account. READ COMMITTED on
 * purpose: each statement after the lock sees what was committed before it.
 *
 * Nothing was done if it throws, except when the connection broke: then sending the same batch again is answered with
 * what was recorded. `now` replaces the database's clock in tests.
 */
export async function applyBatch(connection: PgConnection, batch: Batch, terms: Terms, now?: number): Promise<Committed> {
  try {
    const state = await readState(connection, batch, now);
    const applied = foldBatch(state, batch, terms);
    await writeRows(connection, applied.rows, state.now);
    return { ...applied, state, reserves: batch.reserves };
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => undefined); // on a broken connection the server does so by itself
    throw error;
  }
}
