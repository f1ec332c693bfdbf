import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { renderRequest, takesStop } from './request.js';
import { parseReply } from './response.js';
import { MessagesStreamParser } from './stream.js';

/** `POST /messages` of Anthropic and compatible servers. */
export const anthropicMessages: UpstreamAdapter = {
  kind: 'anthropic-messages',
  takesStop,
  renderRequest,
  parseReply,
  openStream: (call) => new MessagesStreamParser(call),
  parseError,
};
