import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import { renderError, renderStreamError } from './errors.js';

test.each((Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => code !== 'context_length_exceeded'))(
  '%s has the four fields [error-body-responses, E-1]',
  (code) => {
    const error = new GatewayError(code, 'What happened.', { param: 'input[0].role' });
    expect(JSON.parse(renderError(error))).toEqual({
      error: { message: 'What happened.', type: ERROR_CODES[code].type, param: 'input[0].role', code },
    });
  },
);

test.each(['unsupported_content', 'context_length_exceeded'] as const)(
  '%s of the whole prompt names the input [error-body-responses]',
  (code) => {
    expect(JSON.parse(renderError(new GatewayError(code, 'What happened.'))).error.param).toBe('input');
  },
);

test.each([
  [new GatewayError('upstream_error', 'It broke.'), { code: 'upstream_error', message: 'It broke.' }],
  [
    new GatewayError('model_capacity', 'The model is busy.', { retryAfterSeconds: 5 }),
    { code: 'model_capacity', message: 'The model is busy. Please try again in 5s.' },
  ],
  [
    new GatewayError('rate_limit_exceeded', 'The limit is reached. Please try again in 12s.', { retryAfterSeconds: 12 }),
    { code: 'rate_limit_exceeded', message: 'The limit is reached. Please try again in 12s.' },
  ],
])('within a stream the message has the retry time once (%#) [E-5, R-11]', (error, rendered) => {
  expect(renderStreamError(error)).toEqual(rendered);
});
