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
  readOwnRange,
  resolveBefore,
  resolveSpan,
  sortRows,
  toTimeInput,
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
    actor: text,
    action: text,
    target: text,
    tagName: text,
    sortModels: text,
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

test.each<[start: string, end: string, read: object]>([
  ['2026-11-01T00:00', '2026-11-02T12:30', { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T12:30:00.000Z' }],
  ['2026-11-01T00:00', '', { from: '2026-11-01T00:00:00.000Z', to: undefined }],
  ['', '2026-11-02T12:30', { fault: 'Choose a day and a time.', field: 'from' }],
  ['2026-11-02T00:00', '2026-11-02T00:00', { fault: 'The end is after the start.', field: 'to' }],
  ['2026-12-01T00:00', '', { fault: 'The start is not over yet.', field: 'from' }],
  ['2026-01-01T00:00', '2026-04-11T00:01', { fault: 'Choose at most 100 days.', field: 'from' }],
])('an own range from "%s" to "%s" in UTC', (start, end, read) => {
  expect(readOwnRange(start, end, NOW, 100)).toEqual(read);
});

test('an input has a moment to the minute', () => {
  expect(toTimeInput(NOW)).toBe('2026-11-23T13:02');
});

test.each<[title: string, filters: Filters, from: string, to: string, name: string]>([
  ['24 h', { range: '24h' }, '2026-11-21T13:02', '2026-11-22T13:02', 'the 24 h before'],
  ['no range', {}, '2026-11-09T13:02', '2026-11-16T13:02', 'the 7 d before'],
  ['the month', { range: 'month' }, '2026-10-01T00:00', '2026-10-23T13:02', 'the same part of the month before'],
  [
    'a start and an end',
    { from: '2026-11-10T00:00Z', to: '2026-11-12T00:00Z' },
    '2026-11-08T00:00',
    '2026-11-10T00:00',
    'as long a time before',
  ],
  ['a start', { from: '2026-11-23T12:00Z' }, '2026-11-23T10:58', '2026-11-23T12:00', 'as long a time before'],
])('the time before %s is as long as what is over of it', (_title, filters, from, to, name) => {
  const before = resolveBefore(filters, resolveSpan(filters, NOW, '7d'), NOW, '7d');
  expect({ from: toTimeInput(before.from), to: toTimeInput(before.to), name: before.name }).toEqual({ from, to, name });
});

test('the month before a longer part of a month is not exceeded', () => {
  const last = Date.parse('2026-03-31T12:00:00Z');
  const before = resolveBefore({ range: 'month' }, resolveSpan({ range: 'month' }, last, '7d'), last, '7d');
  expect([toTimeInput(before.from), toTimeInput(before.to)]).toEqual(['2026-02-01T00:00', '2026-03-01T00:00']);
});

test.each<[sort: string, order: string]>([
  ['cost', 'b a c'],
  ['-cost', 'a b c'],
  ['name', 'a b c'],
  ['-name', 'c b a'],
  ['constructor', 'c a b'],
])('rows by %s are %s; what is not known is last', (sort, order) => {
  const rows: { name: string; cost: bigint | null }[] = [
    { name: 'c', cost: null },
    { name: 'a', cost: 9_007_199_254_740_993n },
    { name: 'b', cost: 9_007_199_254_740_992n },
  ];
  const sorted = sortRows(rows, sort, { name: ({ name }) => name, cost: ({ cost }) => cost });
  expect(sorted.map(({ name }) => name).join(' ')).toBe(order);
});
