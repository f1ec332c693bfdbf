import type { Applied, Batch, BatchState, HoldTimes } from './batch.js';
import { type BatchBook, openBook, rowsOf } from './batch-book.js';
import { decideReserve } from './decide-reserve.js';
import { decideSettles } from './decide-settles.js';

/**
 * Decides a batch as if its parts had come one after the other: due plan ends, then settles, then reserves. Pure: the
 * state is not touched, and the same state and batch give the same rows. After this nothing is decided any more; the rows
 * are written as they are, and the constraints of the tables check them once again.
 */
export function foldBatch(state: BatchState, batch: Batch, times: HoldTimes): Applied {
  const book: BatchBook = openBook(state);
  const settles = decideSettles(book, batch.settles, times);
  const reserves = batch.reserves.map((reserve) => decideReserve(book, reserve, times));
  return { rows: rowsOf(book), outcomes: { settles, reserves } };
}
