import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { renderRequest, takesStop } from './request.js';
import { parseReply } from './response.js';
import { MessagesStreamParser } from './stream.js';

/** Messages as Anthropic and servers compatible with it speak them. */
export const anthropicMessages: UpstreamAdapter = {
  kind: 'anthropic-messages',
  takesStop,
  renderRequest,
  parseReply,
  openStream: (call) => new MessagesStreamParser(call),
  parseError,
};
