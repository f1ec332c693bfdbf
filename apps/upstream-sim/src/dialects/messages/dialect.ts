import type { SimDialect } from '../sim-dialect.js';
import { markedPrefixes, parseMessagesRequest } from './parse-request.js';
import { renderMessage, renderMessageEvents } from './render-message.js';

/** Anthropic's `POST /v1/messages`. Its replies end with `message_stop` and have no `[DONE]`. */
export const messagesDialect: SimDialect = {
  path: /^\/v1\/messages$/,
  parseRequest: (body) => ({
    chat: parseMessagesRequest(body),
    cacheable: ({ cache_control: markers = [] }) => ({ prefixes: markedPrefixes(body, markers), billsWrites: true }),
    renderReply: renderMessage,
    renderEvents: renderMessageEvents,
  }),
  renderError: ({ message }, status) => ({ type: 'error', error: { type: ERROR_TYPES[status] ?? 'api_error', message } }),
  renderStreamError: ({ message }) => ({
    name: 'error',
    json: JSON.stringify({ type: 'error', error: { type: 'api_error', message } }),
    tokens: 0,
  }),
  marker: { name: 'message_stop', json: '{"type":"message_stop"}', tokens: 0 },
  markerAfter: ['reply'],
};

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
};
