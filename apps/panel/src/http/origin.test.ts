import { isOriginAllowed } from './origin.js';

const ALLOWED = new Set(['https://panel.example.com', 'https://admin.example.com']);

/** Method, headers, and whether the request may go on. */
const CASES: [method: string, headers: Record<string, string>, allowed: boolean][] = [
  // A page names its origin.
  ['POST', { origin: 'https://panel.example.com' }, true],
  ['POST', { origin: 'https://admin.example.com' }, true],
  ['POST', { origin: 'https://evil.example' }, false],
  ['GET', { origin: 'https://evil.example' }, false],
  ['POST', { origin: 'null' }, false],
  ['POST', { origin: '' }, false],
  ['POST', { origin: 'https://panel.example.com:8443' }, false],
  ['POST', { origin: 'http://panel.example.com' }, false],
  ['POST', { origin: 'https://panel.example.com.evil.example' }, false],
  ['POST', { origin: 'HTTPS://PANEL.EXAMPLE.COM' }, false],
  // A browser sends no origin with a GET of the same origin, or of another page's link or image.
  ['GET', { 'sec-fetch-site': 'same-origin', cookie: 'a=b' }, true],
  ['GET', { 'sec-fetch-site': 'none', cookie: 'a=b' }, true],
  ['GET', { 'sec-fetch-site': 'cross-site' }, false],
  ['GET', { 'sec-fetch-site': 'same-site', cookie: 'a=b' }, false],
  ['POST', { 'sec-fetch-site': 'cross-site', cookie: 'a=b' }, false],
  // The origin counts, whatever the other header says.
  ['POST', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }, false],
  // Programs send neither.
  ['GET', {}, true],
  ['POST', {}, true],
  ['POST', { authorization: 'Bearer tg_adm_x' }, true],
  ['GET', { cookie: 'a=b' }, true],
  ['POST', { cookie: 'a=b' }, false],
  ['DELETE', { cookie: 'a=b' }, false],
];

test.each(CASES)('%s %j: %s', (method, headers, allowed) => {
  expect(isOriginAllowed({ method, headers }, ALLOWED)).toBe(allowed);
});
