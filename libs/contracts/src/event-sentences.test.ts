import { MONEY_EVENT_KINDS } from './billing/events.js';
import { describeEvent, nameBudget, SENTENCED_KINDS } from './rules/event-sentences.js';

const usd = (pico: bigint): string => `$${Number(pico) / 1e12}`;
const budget = {
  ...{ accountName: 'Acme', projectName: 'web', budgetName: 'monthly budget of project web', period: 'month' },
  ...{ limitPicoUsd: '500000000000000', spentPicoUsd: '400120000000000' },
};

test('every kind of money event has a sentence', () => {
  expect([...SENTENCED_KINDS].sort()).toEqual([...MONEY_EVENT_KINDS].sort());
});

test.each<[sentence: string, event: { kind: string } & Record<string, unknown>]>([
  [
    'Acme: the balance is low, $4.5 with a threshold of $5.',
    { kind: 'balance-low', accountName: 'Acme', balancePicoUsd: '4500000000000', lowBalancePicoUsd: '5000000000000' },
  ],
  [
    'Acme: a request that needs $2 was refused, the balance is $1.',
    { kind: 'balance-exhausted', accountName: 'Acme', balancePicoUsd: '1000000000000', requiredPicoUsd: '2000000000000' },
  ],
  ['Acme: the monthly budget of project web has spent 80 %, $400.12 of $500.', { kind: 'budget-threshold', ...budget, percent: 80 }],
  [
    'Acme: the monthly budget of project web refused a request that needs $900, $400.12 of $500 is spent.',
    { kind: 'budget-exhausted', ...budget, requiredPicoUsd: '900000000000000' },
  ],
  [
    'Acme: the daily budget of tokens of key ci began again, 900 tokens of 1000 tokens was spent before.',
    { kind: 'budget-reset', accountName: 'Acme', budgetName: 'daily budget of tokens of key ci', limitTokens: 1_000, spentTokens: 900 },
  ],
  ['Acme: a plan ended, $20 of it was not used.', { kind: 'plan-expired', accountName: 'Acme', forfeitedPicoUsd: '20000000000000' }],
  [
    'Acme: the key ci of project web ends on 2027-01-31 12:00 UTC.',
    { kind: 'key-expiring', accountName: 'Acme', keyName: 'ci', projectName: 'web', expiresAt: '2027-01-31T12:00:00.000Z' },
  ],
  ['Acme: the account is frozen, an unpaid bill.', { kind: 'account-frozen', accountName: 'Acme', reason: 'an unpaid bill' }],
  ['Acme: the account is frozen.', { kind: 'account-frozen', accountName: 'Acme', reason: null }],
  [
    'Acme: project web has spent $9 in the hour from 2027-01-31 12:00 UTC, its median hour is $1.',
    {
      ...{ kind: 'spend-unusual', accountName: 'Acme', projectName: 'web', hour: '2027-01-31T12:00:00.000Z' },
      ...{ spentPicoUsd: '9000000000000', medianPicoUsd: '1000000000000' },
    },
  ],
  ['Acme: the ledger check found a fault, I2, I5.', { kind: 'ledger-fault', accountName: 'Acme', invariants: ['I2', 'I5'] }],
  ['Acme: colour-mixed.', { kind: 'colour-mixed', accountName: 'Acme' }],
])('%s', (sentence, event) => {
  expect(describeEvent(event, usd)).toBe(sentence);
});

test('an event without names, of an earlier version, has a sentence too', () => {
  const event = { kind: 'budget-threshold', period: 'day', percent: 50, limitPicoUsd: '2', spentPicoUsd: '1' };
  expect(describeEvent(event, (pico) => `${pico} pico`)).toBe('The daily budget has spent 50 %, 1 pico of 2 pico.');
});

test.each<[name: string, fields: Record<string, unknown>]>([
  ['monthly budget of account Acme', { period: 'month', accountName: 'Acme' }],
  ['daily budget of project web', { period: 'day', accountName: 'Acme', projectName: 'web' }],
  ['total budget of tokens of key ci', { period: 'total', accountName: 'Acme', projectName: 'web', keyName: 'ci', limitTokens: 5 }],
  ['weekly budget of team search of project web', { period: 'week', projectName: 'web', dimension: 'tag:team', value: 'search' }],
  ['monthly budget of user ada of account Acme', { period: 'month', accountName: 'Acme', dimension: 'user', value: 'ada' }],
])('%s', (name, fields) => {
  expect(nameBudget(fields)).toBe(name);
});
