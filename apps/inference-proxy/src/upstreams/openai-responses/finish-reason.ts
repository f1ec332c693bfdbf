import type { FinishReason } from '#inference/stream-event.js';
import { isObject } from '../replies/json-object.js';

/** Returns the finish reason of a response by its status; undefined for a status that is not a good end. */
export function parseFinishReason(status: unknown, incompleteDetails: unknown): FinishReason | undefined {
  if (status === 'completed') return 'stop';
  if (status !== 'incomplete') return undefined;
  const reason = isObject(incompleteDetails) ? incompleteDetails.reason : undefined;
  return reason === 'content_filter' ? 'content-filter' : 'length';
}

/** Returns the worse of two statuses: the one that a terminal event is named for and the one in its response may differ. */
export function worseStatus(named: string, status: unknown): string {
  const isSaid = typeof status === 'string' && status !== 'in_progress' && status !== 'completed';
  return isSaid && (named === 'completed' || named === 'incomplete') ? status : named;
}
