import type { UpstreamAdapter } from '../upstream-adapter.js';
import { parseError } from './errors.js';
import { renderRequest } from './request.js';
import { parseReply } from './response.js';
import { ChatStreamParser } from './stream.js';

/** Chat completions as OpenAI-compatible servers speak them. */
export const openaiChat: UpstreamAdapter = {
  kind: 'openai-chat',
  renderRequest,
  parseReply,
  openStream: (call) => new ChatStreamParser(call),
  parseError,
};
