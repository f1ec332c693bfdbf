import { ERROR_CODES, type ErrorCode, type GatewayError } from '#inference/errors.js';
import { errorMessage } from '../error-message.js';

/** Renders an error body; also used for the error event of a stream. */
export function renderError(error: GatewayError, requestId: string): string {
  const body = { type: findType(error), message: errorMessage(error), details: renderDetails(error) };
  return JSON.stringify({ type: 'error', error: body, request_id: requestId });
}

/** Returns the error's own type if it has one, such as for an unknown path, else the type of its code. */
function findType({ code, type }: GatewayError): string {
  return type === ERROR_CODES[code].type ? TYPES[code] : type;
}

const TYPES = {
  invalid_json: 'invalid_request_error',
  invalid_request: 'invalid_request_error',
  unsupported_parameter: 'invalid_request_error',
  unsupported_content: 'invalid_request_error',
  image_url_not_supported: 'invalid_request_error',
  context_length_exceeded: 'invalid_request_error',
  invalid_api_key: 'authentication_error',
  authentication_required: 'authentication_error',
  insufficient_balance: 'billing_error',
  origin_not_allowed: 'permission_error',
  model_not_found: 'not_found_error',
  request_too_large: 'request_too_large',
  rate_limit_exceeded: 'rate_limit_error',
  concurrency_limit: 'rate_limit_error',
  model_capacity: 'rate_limit_error',
  internal_error: 'api_error',
  upstream_error: 'api_error',
  // Sent with 503, not Anthropic's 529: clients check the type in the body.
  model_unavailable: 'overloaded_error',
  upstream_timeout: 'timeout_error',
} as const satisfies Record<ErrorCode, string>;

/** Returns the details that make Anthropic's SDK resend the whole conversation without `thread`. */
function renderDetails({ code, param }: GatewayError): object | undefined {
  const isThread = code === 'unsupported_parameter' && param === 'thread';
  return isThread ? { error_code: 'thread_unsupported_request', unsupported: [param] } : undefined;
}
