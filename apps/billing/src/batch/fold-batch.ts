import type { Applied, Batch, BatchState, HoldTimes } from './batch.js';
import { type BatchDraft, startDraft, toRows } from './batch-draft.js';
import { decideEvents } from './decide-events.js';
import { decideReserve } from './decide-reserve.js';
import { decideSettles } from './decide-settles.js';

/**
 * Decides a batch as if its parts came one after another: due plan ends, then settles, then reserves. Pure: it leaves the state unchanged,
 * and equal input gives equal rows. Constraints of the tables check the rows again.
 */
export function foldBatch(state: BatchState, batch: Batch, times: HoldTimes): Applied {
  const draft: BatchDraft = startDraft(state);
  const settles = decideSettles(draft, batch.settles, times);
  const reserves = batch.reserves.map((reserve) => decideReserve(draft, reserve, times));
  decideEvents(draft, batch.reserves, reserves);
  return { rows: toRows(draft), outcomes: { settles, reserves } };
}
