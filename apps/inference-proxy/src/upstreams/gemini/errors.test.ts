import { makeCall } from '../../../test/conformance.js';
import { parseError } from './errors.js';

const refuse = (status: number, error: object, headers = {}) => {
  const { kind, code, retryAfterSeconds } = parseError({ status, headers, body: JSON.stringify({ error }) }, makeCall(true));
  return { kind, code, retryAfterSeconds };
};

const retryIn = (retryDelay: unknown) => ({
  code: 429,
  status: 'RESOURCE_EXHAUSTED',
  message: 'You exceeded your current quota, please check your plan and billing details.',
  details: [
    { '@type': 'type.googleapis.com/google.rpc.QuotaFailure' },
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
  ],
});

test.each<[unknown, number | undefined]>([
  ['34.074824224s', 35],
  ['0s', 1],
  ['3600s', 60],
  ['soon', undefined],
  [null, undefined],
])('a quota that returns after %p is a rate limit of %p s', (delay, retryAfterSeconds) => {
  expect(refuse(429, retryIn(delay))).toEqual({ kind: 'refused', code: 'model_capacity', retryAfterSeconds });
});

test.each([
  ['a wrong key', 400, { code: 400, status: 'INVALID_ARGUMENT', message: 'no', details: [{ reason: 'API_KEY_INVALID' }] }, 'denied'],
  ['a missing right', 403, { code: 403, status: 'PERMISSION_DENIED', message: 'Generative Language API is disabled' }, 'refused'],
  [
    'a call without its signature',
    400,
    { code: 400, status: 'INVALID_ARGUMENT', message: 'Function call is missing a thought_signature' },
    'rejected',
  ],
])('%s', (_what, status, error, kind) => {
  expect(refuse(status, error).kind).toBe(kind);
});
