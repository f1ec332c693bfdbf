import { isPlaygroundKey } from './playground-keys.js';

const createdAt = '2027-01-01T12:00:00.000Z';
const name = 'Playground of ada@example.com';

test.each([
  ['a key of the playground', { name, createdAt, expiresAt: '2027-01-01T13:00:00.000Z' }, true],
  ['one whose clocks differ', { name, createdAt, expiresAt: '2027-01-01T13:00:02.000Z' }, true],
  ['a key with its name that lives longer', { name, createdAt, expiresAt: '2027-01-02T12:00:00.000Z' }, false],
  ['a key with its name that has no end', { name, createdAt, expiresAt: null }, false],
  ['a key of an hour with another name', { name: 'ci', createdAt, expiresAt: '2027-01-01T13:00:00.000Z' }, false],
  ['a key of an hour without a name', { name: null, createdAt, expiresAt: '2027-01-01T13:00:00.000Z' }, false],
])('%s', (_, key, isOne) => {
  expect(isPlaygroundKey(key)).toBe(isOne);
});
