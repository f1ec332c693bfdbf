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
  Allow: { description: 'Methods of the path.', required: true, schema: { type: 'string' } },
};

/** Headers of every reply. OpenAI's SDK reads the first, Anthropic's the second. */
export const REPLY_HEADERS = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'request-id': { $ref: '#/components/headers/RequestId' },
};
