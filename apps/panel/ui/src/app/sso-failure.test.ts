import { addressWithoutFailure, ssoFailureIn } from './sso-failure.js';

const ID = `req_${'0a'.repeat(16)}`;

test('a failure has a text and the request id', () => {
  expect(ssoFailureIn(`?sso=unverified&request=${ID}`)).toMatchObject({
    message: 'The provider has not verified your e-mail address. Verify it there, then try again.',
    requestId: ID,
  });
});

test.each(['', '?sso=', '?sso=toString', '?sso=Call+0800'])('%j is no failure', (search) => {
  expect(ssoFailureIn(search)).toBeUndefined();
});

test('a text in place of the request id is not shown', () => {
  expect(ssoFailureIn('?sso=expired&request=Call+0800')?.requestId).toBeNull();
});

test('the way back has no failure, and keeps the filters', () => {
  const pathname = '/panel/a/1/usage';
  expect(addressWithoutFailure({ pathname, search: `?range=7d&sso=expired&request=${ID}` })).toBe(`${pathname}?range=7d`);
  expect(addressWithoutFailure({ pathname, search: '?sso=expired' })).toBe(pathname);
});
