import type { FinishReason } from '#inference/stream-event.js';
import { readFinishWord } from '../replies/finish-words.js';
import { isObject } from '../replies/json-object.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/**
 * Returns the finish reason of a response by its status; undefined for a status that is not a good end. Throws `UpstreamFailure` when an
 * incomplete response names a failure.
 */
export function parseFinishReason(
  status: unknown,
  incompleteDetails: unknown,
  call: Pick<UpstreamCall, 'onOddity'>,
): FinishReason | undefined {
  if (status === 'completed') return 'stop';
  if (status !== 'incomplete') return undefined;
  const reason = readFinishWord(isObject(incompleteDetails) ? incompleteDetails.reason : undefined, call);
  return reason === 'content-filter' ? reason : 'length';
}

/** Returns the worse of two statuses: the one that a terminal event is named for and the one in its response may differ. */
export function worseStatus(named: string, status: unknown): string {
  const isSaid = typeof status === 'string' && status !== 'in_progress' && status !== 'completed';
  return isSaid && (named === 'completed' || named === 'incomplete') ? status : named;
}
