import { promptPrefixes } from '../../reply/prompt-prefixes.js';
import type { SimDialect } from '../sim-dialect.js';
import { parseResponsesRequest } from './parse-request.js';
import { renderResponse, renderResponseEvents } from './render-response.js';

/** OpenAI's `POST /v1/responses`, without state. Its streams end with their terminal event and have no `[DONE]`. */
export const responsesDialect: SimDialect = {
  path: /^\/v1\/responses$/,
  parseRequest: (body) => {
    const { chat, shape } = parseResponsesRequest(body);
    return {
      chat,
      cacheable: (request) => ({ prefixes: promptPrefixes(request), billsWrites: false }),
      renderReply: (plan, directives) => renderResponse(plan, directives, shape),
      renderEvents: (plan, directives) => renderResponseEvents(plan, directives, shape),
    };
  },
  renderError: (error) => ({ error }),
  renderStreamError: ({ message }) => ({
    name: 'error',
    json: JSON.stringify({ type: 'error', code: 'server_error', message, param: null }),
    tokens: 0,
  }),
  marker: { json: '[DONE]', tokens: 0 },
  markerAfter: [],
};
