import type { FinishReason } from '#inference/stream-event.js';
import { readFinishWord } from '../replies/finish-words.js';
import { isObject } from '../replies/json-object.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/**
 * Returns the finish reason of a choice; undefined while it has none. Servers that name the stop sequence they matched call the finish
 * `stop`. Throws `UpstreamFailure` for words that report a failure.
 */
export function parseFinishReason(
  { finish_reason: said, stop_reason: stopReason, matched_stop: matchedStop }: Record<string, unknown>,
  call: Pick<UpstreamCall, 'request' | 'onOddity'>,
): FinishReason | undefined {
  const reason = readFinishWord(isObject(said) ? said.type : said, call);
  const matched = stopReason ?? matchedStop;
  const isMatched = typeof matched === 'string' && call.request.stop?.includes(matched) === true;
  return reason === 'stop' && isMatched ? 'stop-sequence' : reason;
}
