import { RETRY_AFTER_MAX_SECONDS } from '../http/replies/write-reply.js';

const requestId = {
  description: 'Id of the request. Quote it in support questions.',
  required: true,
  schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' },
};

/** Header components of the document. */
export const HEADERS = {
  RequestId: requestId,
  RetryAfter: {
    description: 'Seconds after which to try again.',
    required: true,
    schema: { type: 'integer', minimum: 1, maximum: RETRY_AFTER_MAX_SECONDS },
  },
  ShouldRetry: { description: 'The same request may succeed later.', required: true, schema: { type: 'string', const: 'true' } },
  ShouldNotRetry: { description: 'The same request would be refused again.', required: true, schema: { type: 'string', const: 'false' } },
  EntityTag: { description: 'Version of the document: send it as `if-none-match`.', required: true, schema: { type: 'string' } },
  LimitRequests: { description: 'Requests per minute of the project.', required: false, schema: { type: 'integer' } },
  RemainingRequests: { description: 'Requests that the project may make at once.', required: false, schema: { type: 'integer' } },
  ResetRequests: {
    description: 'Time until all requests remain again if the project makes none: `59s`, `1m0s`.',
    required: false,
    schema: { type: 'string', pattern: '^(\\d+s|1m0s)$' },
  },
  ResetRequestsAt: {
    description: 'When all requests remain again if the project makes none, as RFC 3339.',
    required: false,
    schema: { type: 'string' },
  },
  Allow: { description: 'Methods of the path.', required: true, schema: { type: 'string' } },
};

/** Headers of replies to generation requests, with the project's requests per minute. */
export const RATE_LIMIT_HEADERS = {
  'x-ratelimit-limit-requests': { $ref: '#/components/headers/LimitRequests' },
  'x-ratelimit-remaining-requests': { $ref: '#/components/headers/RemainingRequests' },
  'x-ratelimit-reset-requests': { $ref: '#/components/headers/ResetRequests' },
};

/** The same for clients of Anthropic. */
export const ANTHROPIC_RATE_LIMIT_HEADERS = {
  'anthropic-ratelimit-requests-limit': { $ref: '#/components/headers/LimitRequests' },
  'anthropic-ratelimit-requests-remaining': { $ref: '#/components/headers/RemainingRequests' },
  'anthropic-ratelimit-requests-reset': { $ref: '#/components/headers/ResetRequestsAt' },
};

/** Headers of every reply. OpenAI's SDK reads the first, Anthropic's the second. */
export const REPLY_HEADERS = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'request-id': { $ref: '#/components/headers/RequestId' },
};
