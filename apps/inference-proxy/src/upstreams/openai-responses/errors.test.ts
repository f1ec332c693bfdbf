import type { ImagePart } from '#inference/turn.js';
import { callOf } from '../../../test/conformance.js';
import { parseError } from './errors.js';

const IMAGE: ImagePart = { type: 'image', mediaType: 'image/png', base64: '' };
const WITH_IMAGE = callOf(true, { turns: [{ role: 'user', parts: [IMAGE] }] });

function read(status: number, body: unknown, headers: Record<string, string> = {}, call = callOf(true)) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { kind, code, retryAfterSeconds, isOperatorsFault } = parseError({ status, headers, body: text }, call);
  return { kind, code, retryAfterSeconds, isOperatorsFault };
}

const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

test.each([
  [400, 'rejected', 'upstream_error', false],
  [401, 'denied', 'model_unavailable', true],
  [404, 'refused', 'model_unavailable', true],
  [408, 'timeout', 'upstream_timeout', false],
  [429, 'refused', 'model_capacity', false],
  [500, 'refused', 'upstream_error', false],
  [503, 'refused', 'model_unavailable', false],
])('status %i is %s, %s [U-23]', (status, kind, code, isOperatorsFault) => {
  expect(read(status, error('something', { type: 'some_error', param: null, code: null }))).toEqual({
    kind,
    code,
    isOperatorsFault,
  });
});

test.each<[string, number, unknown]>([
  ['by its code', 400, error('too long', { code: 'context_length_exceeded' })],
  ['by its words', 400, error('Your input exceeds the context window of this model. Please adjust your input and try again.')],
  ['as a text', 400, { error: 'the request exceeds the available context size' }],
  ['of a web framework', 422, { detail: 'input is too long' }],
  ['as the error itself', 400, { object: 'error', message: "This model's maximum context length is 4096" }],
  ['not even JSON', 413, 'Prompt is too long'],
])('context overflow %s [U-23]', (_form, status, body) => {
  expect(read(status, body)).toMatchObject({ kind: 'rejected', code: 'context_length_exceeded' });
});

test.each(['image_too_large', 'invalid_base64_image', 'unsupported_image_media_type', 'invalid_prompt', 'bio_policy', 'content_filter'])(
  'content refused as %s is the client’s to change',
  (code) => {
    expect(read(400, error('no', { code, type: 'invalid_request_error' }))).toMatchObject({
      kind: 'rejected',
      code: 'unsupported_content',
    });
  },
);

test('images refused in words alone', () => {
  const body = error("Invalid 'input[0].content[1]': image input is not supported by this model.");
  expect([read(400, body, {}, WITH_IMAGE).code, read(400, body).code]).toEqual(['unsupported_content', 'upstream_error']);
});

test('Retry-After from the header or the words [H-4]', () => {
  expect([
    read(429, error('slow down'), { 'retry-after': '7' }).retryAfterSeconds,
    read(429, error('Please try again in 20s.')).retryAfterSeconds,
  ]).toEqual([7, 20]);
});

test('a code that is neither a word nor a number says nothing, and breaks nothing', () => {
  for (const code of [{ toString: 1, valueOf: 1 }, [{ toString: null }], null, true])
    expect(read(500, error('no', { code })).code).toBe('upstream_error');
});
