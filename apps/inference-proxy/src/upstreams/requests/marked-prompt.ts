import { CACHED_PROMPT_TOKENS_MIN } from '#inference/added-texts.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { nameAccount, type PromptHead } from './account-line.js';
import type { Message } from './block-messages.js';

/** The rendered parts of a prompt, in the order in which the upstream reads them. */
interface Prompt extends PromptHead {
  messages: Message[];
}

/** User messages that get a marker. The earlier of the two ended the previous request, so that the prompt up to there is in the cache. */
const MARKED_MESSAGES = 2;

/**
 * Prepares a prompt for an upstream that caches what is marked. Returns the messages that get a marker at their end, as the system prompt
 * does; undefined when nothing is marked. A prompt is marked that a next turn is likely to repeat: one with tools or earlier turns that is
 * as long as vendors require. Besides the markers, the same history is the same bytes in each request.
 *
 * The line of the account stands before everything that is marked. With `cacheKey: text` it stands in every prompt that is long enough, for
 * upstreams that cache without markers.
 */
export function findMarkedMessages(prompt: Prompt, call: UpstreamCall, apiKey: string | undefined): Message[] | undefined {
  const { promptCache = '5m', cacheKey } = call.capabilities;
  if (call.promptTokensEstimate < CACHED_PROMPT_TOKENS_MIN) return undefined;
  const asked = prompt.messages.filter(({ role }) => role === 'user').slice(-MARKED_MESSAGES);
  const isMarked = promptCache !== 'off' && (prompt.tools.length > 0 || asked.length > 1);
  if (cacheKey === 'text' || (isMarked && cacheKey !== 'none')) nameAccount(prompt, call, apiKey);
  return isMarked ? asked : undefined;
}
