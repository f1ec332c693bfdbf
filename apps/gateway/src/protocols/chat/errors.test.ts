import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import { renderError } from './errors.js';

test.each(Object.keys(ERROR_CODES) as ErrorCode[])(
  '%s has the four fields [auth-panel, error-body-general, error-authentication-required, error-origin, E-1]',
  (code) => {
    const error = new GatewayError(code, 'What happened.', { param: 'messages[0].role' });
    expect(JSON.parse(renderError(error))).toEqual({
      error: { message: 'What happened.', type: ERROR_CODES[code].type, param: 'messages[0].role', code },
    });
  },
);

test('param is null without a field, and an HTTP error has its own type', () => {
  const error = new GatewayError('invalid_request', 'There is no such path.', { status: 404, type: 'not_found_error' });
  expect(renderError(error)).toBe(
    '{"error":{"message":"There is no such path.","type":"not_found_error","param":null,"code":"invalid_request"}}',
  );
});
