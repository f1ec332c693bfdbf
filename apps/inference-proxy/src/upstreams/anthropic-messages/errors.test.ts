import { makeCall } from '../../../test/conformance.js';
import { findError, parseError } from './errors.js';

const body = (type: string, message = 'No') => ({ type: 'error', error: { type, message } });

test.each([
  [401, 'authentication_error', 'model_unavailable', true],
  [402, 'billing_error', 'model_unavailable', true],
  [404, 'not_found_error', 'model_unavailable', true],
  [429, 'rate_limit_error', 'model_capacity', false],
  [500, 'api_error', 'upstream_error', false],
  [504, 'timeout_error', 'upstream_timeout', false],
  [529, 'overloaded_error', 'model_unavailable', false],
])('%i %s, as a reply and within a stream [U-23]', (status, type, code, isOperatorsFault) => {
  const call = makeCall(true);
  const reply = parseError({ status, headers: {}, body: JSON.stringify(body(type)) }, call);
  for (const failure of [reply, findError(body(type), call)]) expect(failure).toMatchObject({ code, isOperatorsFault });
});

test('a prompt beyond the context', () => {
  const text = JSON.stringify(body('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'));
  expect(parseError({ status: 400, headers: {}, body: text }, makeCall(true)).code).toBe('context_length_exceeded');
});

test('what is no error is none', () => {
  expect(findError({ type: 'ping' }, makeCall(true))).toBeUndefined();
});

test('a type that every object has a field of is an unknown type', () => {
  expect(findError({ type: 'error', error: { type: 'constructor', message: 'no' } }, makeCall(true))).toMatchObject({
    kind: 'refused',
    code: 'upstream_error',
    detail: 'other constructor',
  });
});
