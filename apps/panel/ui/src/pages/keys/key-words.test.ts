import type { KeyRow } from '../../../../src/shapes/billing.js';
import { keyTitle, keyWords } from './key-words.js';

const NOW = Date.parse('2027-01-31T12:00:00Z');
const DAY_MS = 86_400_000;
const at = (days: number): string => new Date(NOW + days * DAY_MS).toISOString();
const KEY: KeyRow = {
  ...{
    keyId: 'k',
    rootKeyId: 'k',
    projectId: 'p',
    name: null,
    note: null,
    lastFour: 'abcd',
    createdAt: at(-90),
    createdBy: null,
    lastUsedAt: null,
  },
  ...{
    status: 'active',
    expiresAt: null,
    disabled: false,
    models: [],
    networks: [],
    requestsPerMinuteMax: null,
    concurrencyMax: null,
    tokensPerMinuteMax: null,
    replacedBy: null,
    revokedAt: null,
  },
};

test.each<[what: string, fields: Partial<KeyRow>, words: ReturnType<typeof keyWords>]>([
  ['without an end', {}, { tone: 'good', state: 'Active', more: null }],
  ['with a far end', { expiresAt: at(30) }, { tone: 'good', state: 'Active', more: 'ends in 30 days' }],
  ['that ends soon', { expiresAt: at(3) }, { tone: 'warn', state: 'Active', more: 'ends in 3 days' }],
  ['that ends now', { expiresAt: at(1 / 86_400) }, { tone: 'warn', state: 'Active', more: 'ends within a minute' }],
  ['in its grace', { expiresAt: at(1), replacedBy: 'n' }, { tone: 'warn', state: 'Replaced', more: 'ends in 1 day' }],
  [
    'after its grace',
    { status: 'expired', expiresAt: at(-1), replacedBy: 'n' },
    { tone: 'neutral', state: 'Replaced', more: 'ended 1 day ago' },
  ],
  ['that has expired', { status: 'expired', expiresAt: at(-2) }, { tone: 'neutral', state: 'Expired', more: 'ended 2 days ago' }],
  ['that is disabled', { status: 'disabled', disabled: true }, { tone: 'warn', state: 'Disabled', more: null }],
  ['that was revoked', { status: 'revoked', revokedAt: at(-9) }, { tone: 'neutral', state: 'Revoked', more: '9 days ago' }],
])('a key %s', (_, fields, words) => {
  expect(keyWords({ ...KEY, ...fields }, NOW)).toEqual(words);
});

test('a key without a name is called by its last characters', () => {
  expect([keyTitle({ name: 'ci', lastFour: 'abcd' }), keyTitle({ name: null, lastFour: 'abcd' })]).toEqual(['ci', 'tg_live_…abcd']);
});
