import { changesOf, summaryOf, textOf } from './changes.js';

test('a change lists the fields that differ', () => {
  const before = { name: 'web', limits: { rpm: 300 }, state: 'on' };
  const after = { name: 'web', limits: { rpm: 600 }, added: true };
  expect(changesOf({ before, after })).toEqual([
    { field: 'limits', before: { rpm: 300 }, after: { rpm: 600 } },
    { field: 'added', before: undefined, after: true },
    { field: 'state', before: 'on', after: undefined },
  ]);
  expect(changesOf({ before: null, after: null })).toEqual([]);
});

test('amounts are in USD', () => {
  expect(changesOf({ before: { limitPicoUsd: null }, after: { limitPicoUsd: '100000000' } })).toEqual([
    { field: 'limit', before: null, after: '$0.0001' },
  ]);
});

test('values are one line', () => {
  expect([textOf('a'), textOf(null), textOf(undefined), textOf(0), textOf(['x'])]).toEqual(['a', '–', '–', '0', '["x"]']);
});

test('a summary leaves out ids and the time of creation', () => {
  const after = { keyId: 'k', projectId: 'p', name: 'staging', createdAt: '2026-11-23', revokedAt: null };
  expect(summaryOf({ before: null, after })).toBe('name: staging');
  expect(summaryOf({ before: { rpm: 300 }, after: { rpm: 600 } })).toBe('rpm: 300 → 600');
});
