import type { ImagePart } from '#inference/turn.js';
import { callOf } from '../../../test/conformance.js';
import { parseRetryAfter } from '../refusals/parse-retry-after.js';
import { parseError } from './errors.js';

const IMAGE: ImagePart = { type: 'image', mediaType: 'image/png', base64: '' };
const TEXT_ONLY = callOf(true);
const WITH_IMAGE = callOf(true, { turns: [{ role: 'user', parts: [IMAGE] }] });

function read(status: number, body: unknown, headers: Record<string, string> = {}, call = TEXT_ONLY) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { kind, code, retryAfterSeconds, isOperatorsFault } = parseError({ status, headers, body: text }, call);
  return { kind, code, retryAfterSeconds, isOperatorsFault };
}

const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

test.each([
  [400, 'rejected', 'upstream_error', false],
  [401, 'denied', 'model_unavailable', true],
  [402, 'denied', 'model_unavailable', true],
  [403, 'refused', 'upstream_error', true],
  [404, 'refused', 'model_unavailable', true],
  [408, 'timeout', 'upstream_timeout', false],
  [413, 'rejected', 'context_length_exceeded', false],
  [422, 'rejected', 'upstream_error', false],
  [429, 'refused', 'model_capacity', false],
  [500, 'refused', 'upstream_error', false],
  [502, 'refused', 'upstream_error', false],
  [503, 'refused', 'model_unavailable', false],
  [504, 'timeout', 'upstream_timeout', false],
  [529, 'refused', 'model_unavailable', false],
  [418, 'refused', 'upstream_error', false],
])('status %i is %s, %s', (status, kind, code, isOperatorsFault) => {
  expect(read(status, error('something'))).toEqual({ kind, code, isOperatorsFault });
});

test.each([
  ["This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."],
  ['the request exceeds the available context size. try increasing the context size or enable context shift'],
  ["The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
  ['prompt is too long: 210000 tokens > 200000 maximum'],
  ['Input is too long for requested model.'],
  ['Please reduce the length of the messages or completion.'],
  ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
  ["This endpoint's maximum context length is 32768 tokens"],
  ['Your input exceeds the context window of this model. Please adjust your input and try again.'],
  ['Prompt contains 40000 tokens, over the limit of 32000 tokens'],
  ['too many tokens'],
  ['inputs tokens + max_new_tokens must be <= max_model_len'],
  ['Requested token count exceeds the model context window of 4096'],
  ["'max_tokens' is too large for a context length of 4096: it does not fit the context window, which is too small"],
])('context overflow: %s [error-context-length, U-23]', (message) => {
  expect(read(400, error(message)).code).toBe('context_length_exceeded');
});

test('context overflow by code, in other statuses and forms [U-23]', () => {
  expect(read(400, error('no', { code: 'context_length_exceeded' })).code).toBe('context_length_exceeded');
  expect(read(413, 'Prompt is too long').code).toBe('context_length_exceeded');
  expect(read(500, { error: 'the request exceeds the available context size' }).code).toBe('context_length_exceeded');
  expect(read(422, { detail: 'input is too long' }).code).toBe('context_length_exceeded');
  expect(read(400, { object: 'error', message: "This model's maximum context length is 4096", code: 400 }).code).toBe(
    'context_length_exceeded',
  );
  expect(read(429, error('too many tokens per minute')).code).toBe('model_capacity');
});

test.each([
  ['Invalid content type. image_url is only supported by certain models.'],
  ['test-model is not a multimodal model'],
  ['image input is not supported - hint: if this is unexpected, you may need to provide the mmproj'],
  ['Could not process image'],
  ['Unable to load image from the data URL'],
])('refused images: %s', (message) => {
  expect(read(400, error(message), {}, WITH_IMAGE).code).toBe('unsupported_content');
  expect(read(400, error(message)).code).toBe('upstream_error');
});

test('refused by a content policy', () => {
  expect(read(400, error('The response was filtered', { code: 'content_filter' }))).toMatchObject({
    kind: 'rejected',
    code: 'unsupported_content',
  });
});

test.each<[string, Record<string, string>, string, number | undefined]>([
  ['seconds', { 'retry-after': '7' }, '', 7],
  ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, '', 30],
  ['a date gone by', { 'retry-after': 'Thu, 01 Jan 2020 00:00:30 GMT' }, '', 1],
  ['milliseconds', { 'retry-after-ms': '2500', 'retry-after': '9' }, '', 3],
  ['a long wait', { 'retry-after': '3600' }, '', 60],
  ['x-ratelimit-reset-requests', { 'x-ratelimit-reset-requests': '1m2s' }, '', 60],
  ['x-ratelimit-reset-tokens', { 'x-ratelimit-reset-tokens': '250ms' }, '', 1],
  ['words', {}, 'Rate limit reached. Please try again in 20s.', 20],
  ['words with a fraction', {}, 'Please try again in 1.2 seconds', 2],
  ['retry after', {}, 'retry after 4 seconds', 4],
  ['nothing', {}, 'busy', undefined],
  ['nonsense', { 'retry-after': 'soon' }, '', undefined],
])('Retry-After from %s [H-4, U-23]', (_name, headers, text, seconds) => {
  expect(parseRetryAfter(headers, text, Date.UTC(2026, 0, 1))).toBe(seconds);
});

test('a code that is neither a word nor a number says nothing, and breaks nothing', () => {
  for (const code of [{ toString: 1, valueOf: 1 }, [{ toString: null }], null, true])
    expect(read(500, error('no', { code })).code).toBe('upstream_error');
  expect(read(500, error('no', { code: '429' })).code).toBe('upstream_error'); // the status of the reply counts
});
