import { promptPrefixes } from '../../reply/prompt-prefixes.js';
import type { ErrorObject } from '../../sim-error.js';
import type { SimDialect } from '../sim-dialect.js';
import { parseGeminiRequest } from './parse-request.js';
import { renderChunks, renderContent } from './render-content.js';

/** Google's `generateContent` and `streamGenerateContent`. Its streams close after the chunk with the finish reason. */
export const geminiDialect: SimDialect = {
  path: /^\/v1(?:beta)?\/models\/(?<model>[^/:]+):(?<method>generateContent|streamGenerateContent)$/,
  parseRequest: (body, { model = '', method }) => {
    const { chat, showsThoughts } = parseGeminiRequest(body, decodeURIComponent(model), method === 'streamGenerateContent');
    return {
      chat,
      cacheable: (request) => ({ prefixes: promptPrefixes(request), billsWrites: false }),
      renderReply: (plan, directives) => renderContent(plan, directives, showsThoughts),
      renderEvents: (plan, directives) => renderChunks(plan, directives, showsThoughts),
    };
  },
  renderError,
  renderStreamError: (error) => ({ json: JSON.stringify(renderError(error, 500)), tokens: 0 }),
  marker: { json: '[DONE]', tokens: 0 },
  markerAfter: [],
};

const STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

function renderError({ message, code }: ErrorObject, status: number): object {
  const details = code === null ? {} : { details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code }] };
  return { error: { code: status, message, status: STATUSES[status] ?? 'UNKNOWN', ...details } };
}
