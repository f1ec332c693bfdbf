import { lifetimesUntil, resolveEnd } from './key-end.js';

test.each([
  ['keep', undefined],
  ['never', null],
  [30, '2027-01-31T12:00:00.000Z'],
] as const)('the choice %s', (choice, end) => {
  expect(resolveEnd(choice, Date.parse('2027-01-01T12:00:00Z'))).toBe(end);
});

test('a key that was replaced may choose the lifetimes that end before it does, any other one all', () => {
  const now = Date.parse('2027-01-01T12:00:00Z');
  expect([
    lifetimesUntil('2027-01-08T12:00:00Z', now),
    lifetimesUntil('2026-12-31T12:00:00Z', now),
    lifetimesUntil(undefined, now),
  ]).toEqual([[1, 7], [], [1, 7, 30, 90, 365]]);
});
