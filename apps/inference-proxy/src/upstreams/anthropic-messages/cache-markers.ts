import { CACHED_PROMPT_TOKENS_MIN } from '#inference/added-texts.js';
import { nameAccount } from '../requests/account-line.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import type { Block, Message } from './message.js';

/** The rendered parts of a prompt, in the order in which the upstream reads them. */
interface Prompt {
  tools: Block[];
  system: string | undefined;
  messages: Message[];
}

/** User messages that get a marker. The earlier of the two ended the previous request, so that the prompt up to there is in the cache. */
const MARKED_MESSAGES = 2;

/**
 * Asks the upstream to cache a prompt that a next turn is likely to repeat: one with tools or earlier turns that is as long as vendors
 * require. Puts the most markers that the dialect allows, four: on the last tool, the system prompt and the last two user messages. Besides
 * the markers, the same history is the same bytes in each request.
 *
 * The line of the account stands before everything that is marked. With `cacheKey: text` it stands in every prompt that is long enough, for
 * upstreams that cache without markers. Changes the blocks of the prompt, and returns its system prompt.
 */
export function markCache(prompt: Prompt, call: UpstreamCall, apiKey: string | undefined): string | Block[] | undefined {
  const { promptCache = '5m', cacheKey } = call.capabilities;
  if (call.promptTokensEstimate < CACHED_PROMPT_TOKENS_MIN) return prompt.system;
  const asked = prompt.messages.filter(({ role }) => role === 'user').slice(-MARKED_MESSAGES);
  const isMarked = promptCache !== 'off' && (prompt.tools.length > 0 || asked.length > 1);
  if (cacheKey === 'text' || (isMarked && cacheKey !== 'none')) nameAccount(prompt, call, apiKey);
  if (!isMarked) return prompt.system;
  const marker = { cache_control: promptCache === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' } };
  for (const block of [prompt.tools.at(-1), ...asked.map(({ content }) => content.at(-1))]) if (block) Object.assign(block, marker);
  return prompt.system === undefined ? undefined : [{ type: 'text', text: prompt.system, ...marker }];
}
