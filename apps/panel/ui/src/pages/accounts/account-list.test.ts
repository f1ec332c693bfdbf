import type { AccountRow } from '../../../../src/shapes/billing.js';
import { isFound, sortAccounts } from './account-list.js';

const account = (accountId: string, more: Partial<AccountRow> = {}) =>
  ({ accountId, name: accountId, createdAt: '', ...more }) as AccountRow;
const ids = (accounts: AccountRow[]) => accounts.map(({ accountId }) => accountId);

test.each([
  ['', true],
  [' ACME ', true],
  ['0190', true],
  ['partner', true],
  ['fraud', true],
  ['nobody', false],
])('an account is found by %p: %p', (search, found) => {
  const row = account('0190', { name: 'Acme', pricePlan: 'partner', statusReason: 'fraud' });
  expect(isFound(row, search)).toBe(found);
});

test('accounts are ranked by what they spent, beyond the digits of a float, and those without usage are last', () => {
  const usage = new Map([
    ['a', { requests: 1, costPicoUsd: '9007199254740993' }],
    ['b', { requests: 2, costPicoUsd: '9007199254740992' }],
    ['c', { requests: 3, costPicoUsd: '9007199254740994' }],
  ]);
  const accounts = ['none', 'a', 'b', 'c'].map((id) => account(id));
  expect(ids(sortAccounts(accounts, '-spent', usage))).toEqual(['c', 'a', 'b', 'none']);
  expect(ids(sortAccounts(accounts, 'requests', usage))).toEqual(['none', 'a', 'b', 'c']);
});

test('an unknown column keeps the order of the list', () => {
  expect(ids(sortAccounts([account('b'), account('a')], '-constructor', new Map()))).toEqual(['b', 'a']);
});
