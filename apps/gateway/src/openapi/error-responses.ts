import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import { renderErrorAt } from '../http/replies/render-error.js';
import { isRetryable } from '../http/replies/write-reply.js';
import { protocolAt, ROUTES, type Route } from '../http/routes.js';
import { ADAPTERS } from '../protocols/adapters.js';
import { type JsonSchema, orNull, replyObject, text, word } from '../protocols/json-schema/json-schema.js';
import { REPLY_HEADERS } from './headers.js';

const REQUEST_ID = 'req_019a98a1c0de7f00a1b2c3d4e5f60718';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];
const TYPES = [...new Set(Object.values(ERROR_CODES).map(({ type }) => type))];

/** Codes of a dashboard's session. No endpoint of the gateway returns them. */
const PANEL_CODES: ErrorCode[] = ['authentication_required', 'origin_not_allowed'];

/** An example of each error. Messages are for people and may change. */
const EXAMPLES: Record<ErrorCode, { message: string; param?: string }> = {
  invalid_json: {
    message: 'The request body is not valid JSON: Expected double-quoted property name in JSON at position 24 (line 1 column 25).',
  },
  invalid_request: { message: '`temperature` must be a number from 0 to 2.', param: 'temperature' },
  unsupported_parameter: {
    message: '`previous_response_id` is not supported, because nothing is stored: send the whole conversation in `input`.',
    param: 'previous_response_id',
  },
  unsupported_content: { message: 'The model "sim-fast" does not accept images.' },
  image_url_not_supported: {
    message: '`messages[0].content[1].image_url.url` is a link. Links are not fetched: send a base64 data URL.',
    param: 'messages[0].content[1].image_url.url',
  },
  context_length_exceeded: {
    message:
      'The prompt is too long: 2531 tokens > 2048 maximum (about 2275 of prompt and up to 256 of output). Shorten the prompt or lower the output limit.',
  },
  invalid_api_key: { message: 'The API key is not valid or has been revoked.' },
  authentication_required: { message: 'The session is missing or has expired.' },
  insufficient_balance: {
    message:
      'The request may cost up to $0.0049 (8192 output tokens), but only $0.0012 of the balance is available. Lower the output limit to 2000 tokens or less, or top up.',
  },
  origin_not_allowed: { message: 'This origin is not allowed.' },
  model_not_found: { message: 'There is no model "gpt-5".', param: 'model' },
  request_too_large: { message: 'The request body is larger than 8388608 bytes.' },
  rate_limit_exceeded: { message: "The project's limit of 600 requests per minute is reached. Please try again in 12s." },
  concurrency_limit: { message: "The project's limit of 50 requests at once is reached. Please try again in 1s." },
  model_capacity: { message: 'The model is at capacity. Please try again later.' },
  internal_error: { message: 'The gateway failed. The request id leads to what happened.' },
  upstream_error: { message: 'The model failed to produce a response.' },
  model_unavailable: { message: 'The model is temporarily unavailable.' },
  upstream_timeout: { message: 'The model did not answer in time.' },
};

/** Errors of generation requests. */
export const GENERATION_ERRORS = CODES.filter((code) => !PANEL_CODES.includes(code));

/** Error bodies with all types and codes, as streams send them. */
export const ERROR_SCHEMAS: Record<Family, JsonSchema> = {
  Error: { ...generalError(TYPES, CODES), description: 'The error of every endpoint but messages.' },
  MessagesError: {
    ...messagesError([...new Set(CODES.map((code) => findMessagesType(new GatewayError(code, ''))))]),
    description: 'The error of the messages endpoints.',
  },
};

type Family = 'Error' | 'MessagesError';

/** Response components: one for each family and status, with all codes of that status. */
export const ERROR_RESPONSES: Record<string, object> = Object.fromEntries([
  ...renderResponses('Error', ROUTES.chatCompletions),
  ...renderResponses('MessagesError', ROUTES.messages),
]);

/** Returns the error responses of an operation by status. */
export function errorResponses(route: Route, codes: readonly ErrorCode[]): Record<string, object> {
  const family: Family = protocolAt(route.path) === 'messages' ? 'MessagesError' : 'Error';
  const statuses = new Set([...codes.map((code) => ERROR_CODES[code].status), ...httpErrors(route).map(({ status }) => status)]);
  return Object.fromEntries([...statuses].map((status) => [status, { $ref: `#/components/responses/${family}${status}` }]));
}

/** Returns HTTP errors that have no code of their own: 405, 408 and 415. */
function httpErrors({ method, path }: Route): GatewayError[] {
  const wrongMethod = new GatewayError('invalid_request', `${path} takes ${method}, not DELETE.`, { status: 405 });
  const wrongType = new GatewayError('invalid_request', 'The request body must be JSON: send "Content-Type: application/json".', {
    status: 415,
  });
  const slowBody = new GatewayError('invalid_request', 'The request body came too slowly: at least 8192 bytes per second are expected.', {
    status: 408,
  });
  return method === 'POST' ? [wrongMethod, slowBody, wrongType] : [wrongMethod];
}

function renderResponses(family: Family, route: Route): [name: string, response: object][] {
  const errors = [...GENERATION_ERRORS.map(makeExample), ...httpErrors(route)];
  const byStatus = [...Map.groupBy(errors, ({ status }) => status)].sort(([a], [b]) => a - b);
  return byStatus.map(([status, found]) => [`${family}${status}`, errorResponse(family, route, status, found)]);
}

function makeExample(code: ErrorCode): GatewayError {
  const { message, param } = EXAMPLES[code];
  return new GatewayError(code, message, { param });
}

function errorResponse(family: Family, route: Route, status: number, errors: readonly GatewayError[]): object {
  const codes = [...new Set(errors.map(({ code }) => code))];
  const types = [...new Set(errors.map((error) => (family === 'Error' ? error.type : findMessagesType(error))))];
  return {
    description: status === 405 ? 'Another method than the operation takes.' : `\`${codes.join('`, `')}\`.`,
    headers: {
      ...REPLY_HEADERS,
      'x-should-retry': { $ref: `#/components/headers/${isRetryable(status) ? 'ShouldRetry' : 'ShouldNotRetry'}` },
      ...(isRetryable(status) && { 'retry-after': { $ref: '#/components/headers/RetryAfter' } }),
      ...(status === 405 && { allow: { $ref: '#/components/headers/Allow' } }),
    },
    content: {
      'application/json': {
        schema: family === 'Error' ? generalError(types, codes) : messagesError(types),
        examples: Object.fromEntries(
          errors.map((error) => [error.code, { value: JSON.parse(renderErrorAt(route.path, error, REQUEST_ID)) }]),
        ),
      },
    },
  };
}

function generalError(types: readonly string[], codes: readonly ErrorCode[]): JsonSchema {
  return replyObject({
    error: replyObject({
      message: { ...text, description: 'For people; it can change.' },
      type: word(...types),
      param: { ...orNull(text), description: 'The field of the request at fault.' },
      code: { ...word(...codes), description: 'Stable: branch on it.' },
    }),
  });
}

function messagesError(types: readonly string[]): JsonSchema {
  const details = replyObject({ error_code: text, unsupported: { type: 'array', items: text } });
  return replyObject({ type: word('error'), error: replyObject({ type: word(...types), message: text }, { details }), request_id: text });
}

function findMessagesType(error: GatewayError): string {
  return JSON.parse(ADAPTERS.messages.renderError(error, REQUEST_ID)).error.type;
}
