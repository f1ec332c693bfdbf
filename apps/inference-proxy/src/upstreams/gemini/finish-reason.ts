import type { FinishReason } from '#inference/stream-event.js';
import { readFinishWord } from '../replies/finish-words.js';
import { isObject, NO_REASON } from '../replies/json-object.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/** Returns the finish reason of a candidate; undefined while it has none. Throws `UpstreamFailure` for words that report a failure. */
export function parseFinishReason(word: unknown, call: Pick<UpstreamCall, 'onOddity'>): FinishReason | undefined {
  return readFinishWord(word, call);
}

/** Returns the finish reason of a reply to a prompt that was blocked: it has no candidates, and its prompt is billed. */
export function parseFeedback(feedback: unknown): FinishReason | undefined {
  const word = isObject(feedback) ? feedback.blockReason : undefined;
  return typeof word === 'string' && !NO_REASON.test(word) ? 'content-filter' : undefined;
}
