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

test('a context error has the wording that agents match, and the token counts where known [E-4]', () => {
  const messageOf = (message: string) => JSON.parse(renderError(new GatewayError('context_length_exceeded', message), 'r')).error.message;
  const ours = 'The prompt is too long: 2100 tokens > 2048 maximum (about 2000 of prompt).';
  expect(messageOf(ours)).toBe(ours);
  expect(/prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)/.exec(ours)?.slice(1)).toEqual(['2100', '2048']);
  expect(messageOf('It does not fit the context window of the model.')).toBe(
    'prompt is too long: It does not fit the context window of the model.',
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
