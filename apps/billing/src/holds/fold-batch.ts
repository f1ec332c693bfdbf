import type { Applied, Batch, BatchState, HoldTimes } from './batch.js';
import { type BatchBook, openBook, rowsOf } from './batch-book.js';
import { decideReserve } from './decide-reserve.js';
import { decideSettles } from './decide-settles.js';

/**
 * Decides a batch as if its parts came one after another: due plan ends, then settles, then reserves. Pure: it leaves the state unchanged,
 * and equal input gives equal rows. Constraints of the tables check the rows again.
 */
export function foldBatch(state: BatchState, batch: Batch, times: HoldTimes): Applied {
  const book: BatchBook = openBook(state);
  const settles = decideSettles(book, batch.settles, times);
  const reserves = batch.reserves.map((reserve) => decideReserve(book, reserve, times));
  return { rows: rowsOf(book), outcomes: { settles, reserves } };
}
