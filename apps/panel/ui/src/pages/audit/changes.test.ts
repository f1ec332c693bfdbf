import { formatValue, listChanges } from './changes.js';

test('a change lists the fields that differ', () => {
  const before = { name: 'web', limits: { rpm: 300 }, state: 'on' };
  const after = { name: 'web', limits: { rpm: 600 }, added: true };
  expect(listChanges({ before, after })).toEqual([
    { field: 'limits', before: { rpm: 300 }, after: { rpm: 600 } },
    { field: 'added', before: undefined, after: true },
    { field: 'state', before: 'on', after: undefined },
  ]);
  expect(listChanges({ before: null, after: null })).toEqual([]);
});

test('amounts are in USD', () => {
  expect(listChanges({ before: { limitPicoUsd: null }, after: { limitPicoUsd: '100000000' } })).toEqual([
    { field: 'limit', before: null, after: '$0.0001' },
  ]);
});

test('values are one line', () => {
  expect([formatValue('a'), formatValue(null), formatValue(undefined), formatValue(0), formatValue(['x'])]).toEqual([
    'a',
    '–',
    '–',
    '0',
    '["x"]',
  ]);
});
