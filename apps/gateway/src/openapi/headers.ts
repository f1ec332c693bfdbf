import { COST_HEADER } from '../http/replies/reply-cost.js';
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
  LimitRequests: {
    description: 'Requests per minute of the project or the key, whichever has less left.',
    required: false,
    schema: { type: 'integer' },
  },
  RemainingRequests: { description: 'Requests that may be made at once.', required: false, schema: { type: 'integer' } },
  LimitTokens: {
    description: 'Tokens per minute of the project or the key, whichever has less left. Absent: no limit counts tokens.',
    required: false,
    schema: { type: 'integer' },
  },
  RemainingTokens: { description: 'Tokens that may be used at once.', required: false, schema: { type: 'integer' } },
  ResetTokens: {
    description: 'Time until all tokens remain again if no more requests are made: `59s`, `1m0s`.',
    required: false,
    schema: { type: 'string', pattern: '^(\\d+s|1m0s)$' },
  },
  ResetTokensAt: {
    description: 'When all tokens remain again if no more requests are made, as RFC 3339.',
    required: false,
    schema: { type: 'string' },
  },
  ResetRequests: {
    description: 'Time until all requests remain again if no more are made: `59s`, `1m0s`.',
    required: false,
    schema: { type: 'string', pattern: '^(\\d+s|1m0s)$' },
  },
  ResetRequestsAt: {
    description: 'When all requests remain again if no more are made, as RFC 3339.',
    required: false,
    schema: { type: 'string' },
  },
  Cost: {
    description: 'What the request cost, in dollars, exactly. Not on streams, nor before the settlement is recorded.',
    required: false,
    schema: { type: 'string', pattern: '^[0-9]+\\.[0-9]{2,12}$' },
  },
  Allow: { description: 'Methods of the path.', required: true, schema: { type: 'string' } },
};

/** Headers with the rest of the limits per minute. */
const RATE_LIMIT_HEADERS = {
  'x-ratelimit-limit-requests': { $ref: '#/components/headers/LimitRequests' },
  'x-ratelimit-remaining-requests': { $ref: '#/components/headers/RemainingRequests' },
  'x-ratelimit-reset-requests': { $ref: '#/components/headers/ResetRequests' },
  'x-ratelimit-limit-tokens': { $ref: '#/components/headers/LimitTokens' },
  'x-ratelimit-remaining-tokens': { $ref: '#/components/headers/RemainingTokens' },
  'x-ratelimit-reset-tokens': { $ref: '#/components/headers/ResetTokens' },
};

/** Headers of replies to generation requests. */
export const GENERATION_HEADERS = { [COST_HEADER]: { $ref: '#/components/headers/Cost' }, ...RATE_LIMIT_HEADERS };

/** The same limits for clients of Anthropic. */
export const ANTHROPIC_RATE_LIMIT_HEADERS = {
  'anthropic-ratelimit-requests-limit': { $ref: '#/components/headers/LimitRequests' },
  'anthropic-ratelimit-requests-remaining': { $ref: '#/components/headers/RemainingRequests' },
  'anthropic-ratelimit-requests-reset': { $ref: '#/components/headers/ResetRequestsAt' },
  'anthropic-ratelimit-tokens-limit': { $ref: '#/components/headers/LimitTokens' },
  'anthropic-ratelimit-tokens-remaining': { $ref: '#/components/headers/RemainingTokens' },
  'anthropic-ratelimit-tokens-reset': { $ref: '#/components/headers/ResetTokensAt' },
};

/** Headers of every reply. OpenAI's SDK reads the first, Anthropic's the second. */
export const REPLY_HEADERS = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'request-id': { $ref: '#/components/headers/RequestId' },
};
