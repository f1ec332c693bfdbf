import type { ProtocolAdapter } from '../protocol-adapter.js';
import { renderError } from './errors.js';
import { type ChatRequest, parseRequest } from './request.js';
import { renderCompletion } from './response.js';
import { renderStream } from './stream.js';

/** Adapter of the Chat Completions format: `POST /v1/chat/completions`. */
export const chatAdapter: ProtocolAdapter<ChatRequest> = {
  name: 'chat',
  parseRequest,
  renderCompletion: (reply, _parsed, completion) => renderCompletion(reply, completion),
  renderStream,
  renderError,
};
