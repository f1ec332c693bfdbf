import { findMissingCap, underCap } from '../replies/output-cap.js';
import type { UpstreamAdapter } from '../upstream-adapter.js';
import { embeddings } from './embeddings.js';
import { parseError } from './errors.js';
import { renderRequest } from './request.js';
import { parseReply } from './response.js';
import { ChatStreamParser } from './stream.js';

/** `POST /chat/completions` and `POST /embeddings` of OpenAI and compatible servers. */
export const openaiChat: UpstreamAdapter = {
  kind: 'openai-chat',
  renderRequest,
  parseReply,
  openStream: (call) => underCap(new ChatStreamParser(call), findMissingCap(call)),
  parseError,
  embeddings,
};
