import type { FinishReason } from '#inference/stream-event.js';
import { readFinishWord } from '../replies/finish-words.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/** Returns the finish reason of a `stopReason`; undefined while there is none. Throws `UpstreamFailure` for words that report a failure. */
export function parseFinishReason(stopReason: unknown, call: Pick<UpstreamCall, 'onOddity'>): FinishReason | undefined {
  return readFinishWord(stopReason, call);
}
