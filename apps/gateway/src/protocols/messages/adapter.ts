import type { ProtocolAdapter } from '../protocol-adapter.js';
import { renderError } from './errors.js';
import { type MessagesRequest, parseRequest } from './request.js';
import { renderCompletion } from './response.js';
import { renderStream } from './stream.js';

/** Adapter of the Messages format: `POST /v1/messages`. */
export const messagesAdapter: ProtocolAdapter<MessagesRequest> = {
  name: 'messages',
  parseRequest,
  renderCompletion,
  renderStream,
  renderError,
};
