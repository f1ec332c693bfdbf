import { AttemptCookie, deriveNonce, deriveState, deriveVerifier } from './sso-attempt.js';

const overHttps = new AttemptCookie('https://panel.example.com');
const onLoopback = new AttemptCookie('http://127.0.0.1:8081');

/** The `cookie` header that answers a `set-cookie` header. */
const sentBack = (set: string) => ({ cookie: `other=1; ${set.split(';')[0]}` });

test('the cookie comes back with a link of another site, is out of reach of scripts, and ends after 10 minutes', () => {
  const attempt = overHttps.begin('/panel/');
  expect(overHttps.set(attempt)).toMatch(/^__Host-tollgate-sso=[\w-]{43}\.[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  expect(onLoopback.set(attempt)).toMatch(/^tollgate-sso=[\w-]{43}\.[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
  expect(overHttps.cleared()).toBe('__Host-tollgate-sso=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure');
});

test('any replica reads an attempt from the cookie', () => {
  const attempt = overHttps.begin('/panel/a/all/usage?range=7d');
  expect(new AttemptCookie('https://panel.example.com').read(sentBack(overHttps.set(attempt)))).toEqual(attempt);
});

test.each([undefined, '', 'other=1', '__Host-tollgate-sso=', '__Host-tollgate-sso=short.', `tollgate-sso=${'x'.repeat(43)}.`])(
  'the cookie %j is no attempt',
  (cookie) => expect(overHttps.read({ cookie })).toBeUndefined(),
);

test.each([
  [undefined, '/panel/'],
  ['/panel/a/1/money?from=2027-01-01#top', '/panel/a/1/money?from=2027-01-01'],
  ['https://panel.example.com/panel/profile', '/panel/profile'],
  ['https://evil.example/panel/', '/panel/'],
  ['//evil.example/panel/', '/panel/'],
  ['/\\evil.example/panel/', '/panel/'],
  ['/panel/..//evil.example', '/panel/'],
  ['/panel/v1/session', '/panel/'],
  ['javascript:alert(1)', '/panel/'],
  [`/panel/${'x'.repeat(1_000)}`, '/panel/'],
])('a sign-in that begins with the address %j ends at %s', (address, page) => {
  expect(overHttps.begin(address).returnTo).toBe(page);
});

test('a changed cookie leads to no other site', () => {
  const elsewhere = Buffer.from('//evil.example').toString('base64url');
  expect(overHttps.read({ cookie: `__Host-tollgate-sso=${'x'.repeat(43)}.${elsewhere}` })?.returnTo).toBe('/panel/');
});

test('state, nonce and verifier differ, by provider and by attempt, and do not show the secret', () => {
  const [one, other] = [overHttps.begin('/panel/'), overHttps.begin('/panel/')];
  const values = [one, other].flatMap((attempt) => [
    deriveState(attempt, 'acme'),
    deriveState(attempt, 'other'),
    deriveNonce(attempt),
    deriveVerifier(attempt),
    attempt.secret,
  ]);
  expect(new Set(values).size).toBe(10);
  expect(values.every((value) => /^[\w-]{43}$/.test(value))).toBe(true);
  expect(deriveState({ ...one }, 'acme')).toBe(deriveState(one, 'acme'));
});
