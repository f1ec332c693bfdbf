import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import { renderError } from './errors.js';

const TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

test.each((Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => code !== 'context_length_exceeded'))(
  '%s has the type of its status [error-body-messages, error-types-messages, E-2, E-3]',
  (code) => {
    expect(JSON.parse(renderError(new GatewayError(code, 'What happened.', { param: 'model' }), 'req_x1'))).toEqual({
      type: 'error',
      error: { type: TYPES[ERROR_CODES[code].status], message: 'What happened.' },
      request_id: 'req_x1',
    });
  },
);

test.each([
  [404, 'not_found_error', 'not_found_error'],
  [405, undefined, 'invalid_request_error'],
  [415, undefined, 'invalid_request_error'],
] as const)('an unknown path or a wrong method: status %d is %s [L-5]', (status, type, rendered) => {
  const error = new GatewayError('invalid_request', 'There is nothing here.', { status, type });
  expect(renderError(error, 'req_x1')).toBe(
    `{"type":"error","error":{"type":"${rendered}","message":"There is nothing here."},"request_id":"req_x1"}`,
  );
});

test('the refusal of a thread has the details that make the SDK continue without one', () => {
  expect(JSON.parse(renderError(new GatewayError('unsupported_parameter', 'No.', { param: 'thread' }), 'req_x1'))).toEqual({
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'No.',
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    },
    request_id: 'req_x1',
  });
});
