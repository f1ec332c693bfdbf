import type { Block, Message } from '../requests/block-messages.js';
import { findMarkedMessages } from '../requests/marked-prompt.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/** The rendered parts of a prompt. */
interface Prompt {
  tools: Block[];
  system: string | undefined;
  messages: Message[];
}

/**
 * Asks the upstream to cache the prompt. Puts the most markers that the dialect allows, four: on the last tool, the system prompt and the
 * last two user messages. Changes the blocks of the prompt, and returns its system prompt.
 */
export function markCache(prompt: Prompt, call: UpstreamCall, apiKey: string | undefined): string | Block[] | undefined {
  const messages = findMarkedMessages(prompt, call, apiKey);
  if (messages === undefined) return prompt.system;
  const marker = { cache_control: call.capabilities.promptCache === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' } };
  for (const block of [prompt.tools.at(-1), ...messages.map(({ content }) => content.at(-1))]) if (block) Object.assign(block, marker);
  return prompt.system === undefined ? undefined : [{ type: 'text', text: prompt.system, ...marker }];
}
