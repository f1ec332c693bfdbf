import type { Budget, KeyRow } from '../../../../src/shapes/billing.js';
import type { Filters } from '../../data/filters.js';
import { isChosen, listCreators, mayDelegate, sortKeys } from './key-list.js';

const NOW = Date.parse('2027-01-31T12:00:00Z');
const DAY_MS = 86_400_000;
const at = (days: number): string => new Date(NOW + days * DAY_MS).toISOString();
const key = (name: string, fields: Partial<KeyRow> = {}): KeyRow =>
  ({
    ...{ keyId: name, rootKeyId: name, projectId: 'p', name, note: null, lastFour: 'abcd', createdAt: at(-90), createdBy: 'ada' },
    ...{ lastUsedAt: at(-1), status: 'active', expiresAt: null, disabled: false, models: [], networks: [] },
    ...{ requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null, replacedBy: null, revokedAt: null },
    ...fields,
  }) as KeyRow;

const KEYS = [
  key('web', { note: 'shop', createdAt: at(-3), lastUsedAt: null }),
  key('ci', { createdBy: 'bob', expiresAt: at(3), models: ['sim-tiny'], lastUsedAt: at(-40) }),
  key('old', { createdAt: at(-99), projectId: 'q' }),
];
const chosen = (filters: Filters) => KEYS.filter((one) => isChosen(one, filters, (id) => `project ${id}`, NOW)).map(({ name }) => name);

test.each<[filters: Filters, names: string[]]>([
  [{}, ['web', 'ci', 'old']],
  [{ key: 'ci', search: 'web' }, ['ci']],
  [{ project: 'q' }, ['old']],
  [{ creator: 'bob' }, ['ci']],
  [{ only: 'unused' }, ['web']],
  [{ only: 'idle' }, ['ci']],
  [{ only: 'endless' }, ['web', 'old']],
  [{ only: 'limited' }, ['ci']],
  [{ search: ' SHOP ' }, ['web']],
  [{ search: 'project q' }, ['old']],
  [{ search: 'sim-tiny' }, ['ci']],
  [{ search: 'abcd', only: 'limited' }, ['ci']],
  [{ search: 'none' }, []],
])('%j chooses keys', (filters, names) => {
  expect(chosen(filters)).toEqual(names);
});

test('keys are sorted by a column, amounts exactly', () => {
  const usage = new Map([
    ['web', { requests: 2, costPicoUsd: '9007199254740993' }],
    ['ci', { requests: 3, costPicoUsd: '9007199254740992' }],
  ]);
  const names = (sort?: string) => sortKeys(KEYS, sort, usage).map(({ name }) => name);
  expect([names(), names('-cost'), names('cost'), names('-requests'), names('name'), names('-used'), names('-constructor')]).toEqual([
    ['web', 'ci', 'old'],
    ['web', 'ci', 'old'],
    ['old', 'ci', 'web'],
    ['ci', 'web', 'old'],
    ['ci', 'old', 'web'],
    ['old', 'ci', 'web'],
    ['web', 'ci', 'old'],
  ]);
});

test('the makers of keys, each once', () => {
  expect(listCreators([...KEYS, key('x', { createdBy: null })])).toEqual(['ada', 'bob']);
});

test.each<[what: string, budget: object, may: boolean]>([
  ['the key', { keyId: 'web', projectId: 'p' }, true],
  ['another key', { keyId: 'ci', projectId: 'p' }, false],
  ['its project', { keyId: null, projectId: 'p' }, true],
  ['another project', { keyId: null, projectId: 'q' }, false],
  ['the account', { keyId: null, projectId: null }, true],
  ['tokens', { keyId: null, projectId: null, unit: 'tokens' }, false],
  ['each session', { keyId: null, projectId: null, dimension: 'session' }, false],
])('a budget of %s: may the key have child keys?', (_, budget, may) => {
  expect(mayDelegate(KEYS[0] as KeyRow, [{ dimension: 'child', unit: 'usd', ...budget } as Budget])).toBe(may);
});
