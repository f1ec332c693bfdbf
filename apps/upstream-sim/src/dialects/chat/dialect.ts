import { promptPrefixes } from '../../reply/prompt-prefixes.js';
import type { SimDialect } from '../sim-dialect.js';
import { parseChatRequest } from './parse-request.js';
import { renderCompletion, renderEvents } from './render-completion.js';

/** OpenAI-compatible chat completions. */
export const chatDialect: SimDialect = {
  path: /^\/v1\/chat\/completions$/,
  parseRequest: (body) => {
    const chat = parseChatRequest(body);
    const includeUsage = chat.stream_options?.include_usage === true;
    return {
      chat,
      cacheable: (request) => ({ prefixes: promptPrefixes(request), billsWrites: false }),
      renderReply: renderCompletion,
      renderEvents: (plan, directives) => renderEvents(plan, directives, includeUsage),
    };
  },
  renderError: (error) => ({ error }),
  renderStreamError: (error) => ({ json: JSON.stringify({ error }), tokens: 0 }),
  marker: { json: '[DONE]', tokens: 0 },
  markerAfter: ['reply', 'error'],
};
