import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import { renderError } from './errors.js';

test.each((Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => code !== 'context_length_exceeded'))(
  '%s has the four fields [auth-panel, error-body-general, error-authentication-required, error-origin, E-1]',
  (code) => {
    const error = new GatewayError(code, 'What happened.', { param: 'messages[0].role' });
    expect(JSON.parse(renderError(error))).toEqual({
      error: { message: 'What happened.', type: ERROR_CODES[code].type, param: 'messages[0].role', code },
    });
  },
);

test.each<[code: ErrorCode, status: number, type: string]>([
  ['invalid_json', 400, 'invalid_request_error'],
  ['invalid_request', 400, 'invalid_request_error'],
  ['unsupported_parameter', 400, 'invalid_request_error'],
  ['unsupported_content', 400, 'invalid_request_error'],
  ['image_url_not_supported', 400, 'invalid_request_error'],
  ['context_length_exceeded', 400, 'invalid_request_error'],
  ['invalid_api_key', 401, 'authentication_error'],
  ['authentication_required', 401, 'authentication_error'],
  ['insufficient_balance', 402, 'insufficient_balance_error'],
  ['origin_not_allowed', 403, 'permission_error'],
  ['model_not_found', 404, 'not_found_error'],
  ['request_too_large', 413, 'invalid_request_error'],
  ['rate_limit_exceeded', 429, 'rate_limit_error'],
  ['concurrency_limit', 429, 'rate_limit_error'],
  ['model_capacity', 429, 'rate_limit_error'],
  ['internal_error', 500, 'api_error'],
  ['upstream_error', 502, 'api_error'],
  ['model_unavailable', 503, 'api_error'],
  ['upstream_timeout', 504, 'api_error'],
])('%s is %i, %s [error-timeout, error-internal, error-unavailable, error-insufficient-balance]', (code, status, type) => {
  const error = new GatewayError(code, 'What happened.');
  expect([error.status, error.type]).toEqual([status, type]);
});

test('param is null without a field, and an HTTP error has its own type [error-body-general, E-1]', () => {
  const error = new GatewayError('invalid_request', 'There is no such path.', { status: 404, type: 'not_found_error' });
  expect(renderError(error)).toBe(
    '{"error":{"message":"There is no such path.","type":"not_found_error","param":null,"code":"invalid_request"}}',
  );
});
