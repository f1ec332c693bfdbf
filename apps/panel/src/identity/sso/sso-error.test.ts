import { SsoError, toSsoError } from './sso-error.js';

test.each<[thrown: object, failure: string, reason: string]>([
  [{ code: 'OAUTH_RESPONSE_BODY_ERROR', error: 'invalid_grant' }, 'refused', 'OAUTH_RESPONSE_BODY_ERROR invalid_grant'],
  [{ code: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR', error: 'access_denied' }, 'refused', 'OAUTH_AUTHORIZATION_RESPONSE_ERROR access_denied'],
  [{ code: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR', error: '<b>call 0800</b>' }, 'refused', 'OAUTH_AUTHORIZATION_RESPONSE_ERROR'],
  [{ code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' }, 'refused', 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
  [{ code: 'OAUTH_TIMEOUT' }, 'unavailable', 'OAUTH_TIMEOUT'],
  [new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }), 'unavailable', 'ECONNREFUSED'],
  [
    new Error('something went wrong', { cause: new TypeError('fetch failed', { cause: { code: 'ENOTFOUND' } }) }),
    'unavailable',
    'ENOTFOUND',
  ],
  [new Error('a text of the provider'), 'unavailable', 'unknown error'],
])('%j is %s', (thrown, failure, reason) => {
  expect(toSsoError(thrown)).toMatchObject({ failure, reason });
});

test('a failure that openid-client has wrapped stays what it was', () => {
  const refused = new SsoError('unavailable', 'no https');
  expect(toSsoError(refused)).toBe(refused);
  expect(toSsoError(new Error('something went wrong', { cause: refused }))).toBe(refused);
});
