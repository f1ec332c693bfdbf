import type { Upstream } from '#contracts/catalog.js';
import { openaiChat } from './openai-chat/adapter.js';
import type { UpstreamAdapter } from './upstream-adapter.js';

/** Every dialect the proxy speaks. */
export const ADAPTERS = {
  'openai-chat': openaiChat,
} satisfies Record<Upstream['kind'], UpstreamAdapter>;
