import type { Account } from '#contracts/billing/accounts.js';
import type { Budget } from '#contracts/billing/budgets.js';
import type { KeyRow } from '#contracts/billing/keys.js';
import type { AccountBalance } from '../../shapes/overview.js';
import { accountWarnings, limitWarnings } from './account-warnings.js';

const NOW = new Date('2027-01-01T00:00:00Z');
const ACCOUNT: Account = {
  accountId: 'a',
  name: 'Acme',
  status: 'active',
  statusReason: null,
  pricePlan: null,
  nextPricePlan: null,
  lowBalancePicoUsd: '100',
  creditLinePicoUsd: null,
  requestsPerMinuteMax: null,
  concurrencyMax: null,
  tokensPerMinuteMax: null,
  projectsMax: 100,
  activeKeysMax: 1_000,
  createdAt: '',
};
const BALANCE: AccountBalance = {
  expiredHeld: '0',
  object: 'balance',
  currency: 'USD',
  balance_pico_usd: '500',
  balance_usd: '0.00',
  reserved_pico_usd: '0',
  available_pico_usd: '500',
  topup_balance_pico_usd: '500',
  plan_balance_pico_usd: '0',
  plan_expires_at: null,
};

test.each([
  ['all is well', {}, {}, []],
  ['no threshold', { lowBalancePicoUsd: null }, { balance_pico_usd: '1', available_pico_usd: '1' }, []],
  ['at the threshold', {}, { balance_pico_usd: '100', available_pico_usd: '100' }, []],
  [
    'below the threshold',
    {},
    { balance_pico_usd: '99', available_pico_usd: '90' },
    [{ kind: 'balance-low', accountId: 'a', availablePicoUsd: '90', lowBalancePicoUsd: '100' }],
  ],
  ['nothing available', {}, { balance_pico_usd: '99', available_pico_usd: '0' }, [{ kind: 'balance-empty', accountId: 'a' }]],
  ['frozen', { status: 'frozen', statusReason: 'I2' }, {}, [{ kind: 'account-frozen', accountId: 'a', statusReason: 'I2' }]],
  ['a plan of eight days', {}, { plan_expires_at: '2027-01-09T00:00:00.000Z' }, []],
  [
    'a plan of six days',
    {},
    { plan_expires_at: '2027-01-07T00:00:00.000Z', plan_balance_pico_usd: '7' },
    [{ kind: 'plan-ends', accountId: 'a', planExpiresAt: '2027-01-07T00:00:00.000Z', planBalancePicoUsd: '7' }],
  ],
] as const)('%s', (_, account, balance, warnings) => {
  const state = { account: { ...ACCOUNT, ...account }, balance: { ...BALANCE, ...balance } };
  expect(accountWarnings(state, NOW)).toEqual(warnings);
});

test.each<[spent: string, refusing: Pick<Budget, 'refusing'>, kinds: ('budget-low' | 'budget-empty')[]]>([
  ['799', {}, []],
  ['799', { refusing: { since: '2027-01-01T00:00:00.000Z', requiredPicoUsd: '250' } }, ['budget-empty']],
  ['800', {}, ['budget-low']],
  ['994', {}, ['budget-low']],
  ['995', {}, ['budget-empty']],
  ['1200', {}, ['budget-empty']],
])('%s of a budget of 1000 spent, %j', (spentPicoUsd, refusing, kinds) => {
  const budget: Budget = {
    ...{
      budgetId: 'b',
      accountId: 'a',
      projectId: null,
      keyId: null,
      dimension: null,
      value: null,
      period: 'month',
      timeZone: 'UTC',
      startDay: 1,
      unit: 'usd',
      createdAt: '',
    },
    ...{ limitPicoUsd: '1000', spentPicoUsd, heldPicoUsd: '900', thresholds: [50, 80, 100], windowStart: null, resetsAt: null },
    ...refusing,
  };
  const warnings = kinds.map((kind) => ({ kind, accountId: 'a', budget }));
  expect(limitWarnings({ accountId: 'a', budgets: [budget], endingKeys: [] })).toEqual(warnings);
});

test('keys that end are one warning, soonest first, without those that were replaced or live for less than a day', () => {
  const key = (keyId: string, expiresAt: string, rest: Partial<KeyRow> = {}): KeyRow => ({
    ...{
      keyId,
      rootKeyId: keyId,
      projectId: 'p',
      name: null,
      note: null,
      lastFour: 'abcd',
      createdAt: '2026-12-01T00:00:00.000Z',
      createdBy: null,
      expiresAt,
      replacedBy: null,
    },
    ...{
      disabled: false,
      models: [],
      networks: [],
      requestsPerMinuteMax: null,
      concurrencyMax: null,
      tokensPerMinuteMax: null,
      revokedAt: null,
      status: 'active',
      lastUsedAt: null,
    },
    ...rest,
  });
  const [soon, sooner] = ['2027-01-06T00:00:00.000Z', '2027-01-02T00:00:00.000Z'];
  const endingKeys = [
    key('a', soon),
    key('b', sooner),
    key('c', sooner, { replacedBy: 'd' }),
    key('e', sooner, { createdAt: '2027-01-01T23:00:00.000Z' }),
  ];
  const named = { name: null, lastFour: 'abcd' };
  const keys = [
    { keyId: 'b', ...named, expiresAt: sooner },
    { keyId: 'a', ...named, expiresAt: soon },
  ];
  expect(limitWarnings({ accountId: 'a', budgets: [], endingKeys })).toEqual([{ kind: 'keys-end', accountId: 'a', keys }]);
});
