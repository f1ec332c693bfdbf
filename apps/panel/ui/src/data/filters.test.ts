import fc from 'fast-check';
import {
  changeFilters,
  type Filters,
  GROUPS,
  type Group,
  KEY_KINDS,
  type KeyKind,
  MEASURES,
  type Measure,
  RANGES,
  type RangeName,
  readFilters,
  resolveSpan,
  writeFilters,
} from './filters.js';

const NOW = Date.parse('2026-11-23T13:02:31Z');
const DAY_MS = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

test('an address and its filters are the same', () => {
  const text = fc.string({ minLength: 1, maxLength: 20 });
  const choice = <T extends string>(names: object) => fc.constantFrom(...(Object.keys(names) as T[]));
  const others = {
    project: text,
    key: text,
    model: text,
    upstream: text,
    ending: text,
    group: choice<Group>(GROUPS),
    measure: choice<Measure>(MEASURES),
    search: text,
    creator: text,
    only: choice<KeyKind>(KEY_KINDS),
    sort: text,
    budget: text,
    status: fc.constantFrom('200', '429', '504'),
    code: text,
    user: text,
    tag: text,
    costMin: fc.constantFrom('0', '0.002', '1,234.50'),
    costMax: fc.constantFrom('1', '10'),
    tookMin: fc.constantFrom('0', '2', '0.25'),
    tookMax: fc.constantFrom('60', '3.5'),
  };
  const byRange = fc.record({ range: choice<RangeName>(RANGES), ...others }, { requiredKeys: [] });
  const byTimes = fc.record({ from: fc.constant(iso(NOW - DAY_MS)), to: fc.constant(iso(NOW)), ...others }, { requiredKeys: ['from'] });
  fc.assert(
    fc.property(fc.oneof(byRange, byTimes), (filters: Filters) => {
      expect(readFilters(writeFilters(filters))).toEqual(filters);
    }),
  );
});

test.each([
  ['a range that does not exist', '?range=5y&model=a'],
  ['a group with the name of a method', '?group=constructor&model=a'],
  ['a start that is no time', '?from=yesterday&to=2026-11-23T00:00:00Z&model=a'],
  ['an end without a start', '?to=2026-11-23T00:00:00Z&model=a'],
  ['a status that is none', '?status=999&model=a'],
  ['an amount that is none', '?costMin=2,50&costMax=much&model=a'],
  ['a duration that is none', '?tookMin=-1&tookMax=1h&model=a'],
  ['an unknown name', '?colour=red&model=a'],
])('%s is left out', (_title, search) => {
  expect(readFilters(search)).toEqual({ model: 'a' });
});

test('a start replaces a range, and a range a start', () => {
  const chosen = readFilters(`?range=7d&from=${iso(NOW)}`);
  expect(chosen).toEqual({ from: iso(NOW) });
  expect(writeFilters(changeFilters(chosen, { range: '30d' }))).toBe('?range=30d');
  expect(writeFilters(changeFilters({ range: '30d', model: 'a' }, { from: '2026-11-01', to: '2026-11-02' }))).toBe(
    '?from=2026-11-01&to=2026-11-02&model=a',
  );
});

describe('the time of filters', () => {
  test.each<[Filters, number, number, 'hour' | 'day']>([
    [{ range: '1h' }, NOW - 31_000 - 3_600_000, NOW + 89_000, 'hour'],
    [{}, NOW - 31_000 - DAY_MS, NOW + 89_000, 'hour'],
    [{ range: '30d' }, NOW - 31_000 - 30 * DAY_MS, NOW + 89_000, 'day'],
    [{ range: 'month' }, Date.parse('2026-11-01T00:00:00Z'), NOW + 89_000, 'day'],
    [
      { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' },
      Date.parse('2026-11-20T00:00:00Z'),
      Date.parse('2026-11-21T00:00:00Z'),
      'hour',
    ],
    [{ from: '2026-11-20T00:00:00Z' }, Date.parse('2026-11-20T00:00:00Z'), NOW + 89_000, 'day'],
  ])('%j', (filters, from, to, step) => {
    expect(resolveSpan(filters, NOW, '24h')).toEqual({ from, to, step, stepMs: step === 'hour' ? 3_600_000 : DAY_MS });
  });

  test('stays the same within a minute, so that nothing is asked twice', () => {
    expect(resolveSpan({}, NOW + 20_000, '24h')).toEqual(resolveSpan({}, NOW, '24h'));
  });
});
