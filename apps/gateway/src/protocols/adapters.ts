import { chatAdapter } from './chat/adapter.js';
import { messagesAdapter } from './messages/adapter.js';
import type { ProtocolAdapter, ProtocolName } from './protocol-adapter.js';
import { responsesAdapter } from './responses/adapter.js';

/** The adapters of all client formats. */
export const ADAPTERS = {
  chat: chatAdapter,
  responses: responsesAdapter,
  messages: messagesAdapter,
} satisfies Record<ProtocolName, ProtocolAdapter>;
