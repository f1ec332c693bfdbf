import { makeCall } from '../../../test/conformance.js';
import { parseError } from './errors.js';

function read(status: number, body: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return parseError({ status, headers: {}, body: text }, makeCall(true));
}

const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

test.each<[string, number, unknown]>([
  ['by its code', 400, error('too long', { code: 'context_length_exceeded' })],
  ['by its text', 400, error('Your input exceeds the context window of this model. Please adjust your input and try again.')],
  ['as a text', 400, { error: 'the request exceeds the available context size' }],
  ['of a web framework', 422, { detail: 'input is too long' }],
  ['as the error itself', 400, { object: 'error', message: "This model's maximum context length is 4096" }],
  ['not even JSON', 413, 'Prompt is too long'],
])('context overflow %s [U-23]', (_form, status, body) => {
  expect(read(status, body)).toMatchObject({ kind: 'rejected', code: 'context_length_exceeded' });
});

test.each(['image_too_large', 'invalid_base64_image', 'unsupported_image_media_type', 'invalid_prompt', 'bio_policy', 'content_filter'])(
  'content refused as %s is unsupported_content',
  (code) => {
    expect(read(400, error('no', { code, type: 'invalid_request_error' }))).toMatchObject({
      kind: 'rejected',
      code: 'unsupported_content',
    });
  },
);
