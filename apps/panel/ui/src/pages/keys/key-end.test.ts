import { endOf } from './key-end.js';

test.each([
  ['keep', undefined],
  ['never', null],
  [30, '2027-01-31T12:00:00.000Z'],
] as const)('the choice %s', (choice, end) => {
  expect(endOf(choice, Date.parse('2027-01-01T12:00:00Z'))).toBe(end);
});
