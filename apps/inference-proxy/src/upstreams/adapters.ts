import type { Upstream } from '#contracts/catalog.js';
import { anthropicMessages } from './anthropic-messages/adapter.js';
import { bedrockConverse } from './bedrock-converse/adapter.js';
import { gemini } from './gemini/adapter.js';
import { openaiChat } from './openai-chat/adapter.js';
import { openaiResponses } from './openai-responses/adapter.js';
import type { UpstreamAdapter } from './upstream-adapter.js';

/** The adapter of every dialect. */
export const ADAPTERS = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  gemini,
  'bedrock-converse': bedrockConverse,
} satisfies Record<Upstream['kind'], UpstreamAdapter>;
