import { SessionCookie } from './session-cookie.js';

const SECRET = 'A'.repeat(43);
const overHttps = new SessionCookie('https://panel.example.com');
const onLoopback = new SessionCookie('http://127.0.0.1:8081');

test('over https the cookie is bound to the host and sent over https alone', () => {
  expect(overHttps.set(SECRET)).toBe(`__Host-tollgate=${SECRET}; Path=/; HttpOnly; SameSite=Strict; Secure`);
  expect(overHttps.cleared()).toBe('__Host-tollgate=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure');
});

test('on loopback without https it has neither prefix nor Secure, which Safari refuses there', () => {
  expect(onLoopback.set(SECRET)).toBe(`tollgate=${SECRET}; Path=/; HttpOnly; SameSite=Strict`);
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['other=1', undefined],
  [`tollgate=${SECRET}`, undefined],
  [`__Host-tollgate=${SECRET}`, SECRET],
  [`other=1; __Host-tollgate=${SECRET}; more=2`, SECRET],
  [`__Host-tollgate=${SECRET}x`, ''],
  ['__Host-tollgate=', ''],
])('reads %j as %j', (cookie, value) => {
  expect(overHttps.read({ cookie })).toBe(value);
});
