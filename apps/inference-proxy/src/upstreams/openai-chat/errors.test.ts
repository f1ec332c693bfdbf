import { makeCall } from '../../../test/conformance.js';
import { parseError } from './errors.js';

test.each<[string, number, unknown]>([
  ['a code', 400, { error: { message: 'no', code: 'context_length_exceeded' } }],
  ['a text as the error', 500, { error: 'the request exceeds the available context size' }],
  ['the detail of a web framework', 422, { detail: 'input is too long' }],
  ['the error itself', 400, { object: 'error', message: "This model's maximum context length is 4096", code: 400 }],
  ['no JSON', 413, 'Prompt is too long'],
])('context overflow as %s [error-context-length, U-23]', (_form, status, body) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  expect(parseError({ status, headers: {}, body: text }, makeCall(true))).toMatchObject({
    kind: 'rejected',
    code: 'context_length_exceeded',
  });
});
