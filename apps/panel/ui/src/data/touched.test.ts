import { isTouched } from './touched.js';

const A = '/accounts/0190a6f0-7c1e-7000-8000-00000000000a';
const PROJECTS = [`${A}/projects?limit=1000`, '/projects/0190a6f0'];
const QUERIES = [
  '/me',
  '/accounts?limit=100',
  `${A}/overview`,
  `${A}/budgets`,
  `${A}/keys?limit=1000`,
  ...PROJECTS,
  `${A}/usage`,
  `${A}/card-payments`,
];

test.each([
  [`${A}/budgets`, [`${A}/overview`, `${A}/budgets`, ...PROJECTS]],
  [`${A}/budgets/0190a6f0`, [`${A}/overview`, `${A}/budgets`, ...PROJECTS]],
  ['/projects/0190a6f0/keys', [`${A}/overview`, `${A}/keys?limit=1000`, ...PROJECTS]],
  ['/keys/0190a6f0/rotate', [`${A}/overview`, `${A}/keys?limit=1000`, ...PROJECTS]],
  [`${A}/projects`, [`${A}/overview`, `${A}/keys?limit=1000`, ...PROJECTS]],
  ['/sessions/0190a6f0', []],
  [`${A}/auto-topup`, [`${A}/card-payments`]],
  [`${A}/checkouts`, []],
  [`${A}/topups`, QUERIES],
  [A, QUERIES],
  ['/me', QUERIES],
])('a change at %s touches what shows it', (changed, touched) => {
  expect(QUERIES.filter((path) => isTouched(path, changed))).toEqual(touched);
});
