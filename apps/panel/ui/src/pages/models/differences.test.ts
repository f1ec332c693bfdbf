import type { CatalogDifferences } from '../../../../src/shapes/catalog.js';
import { changesText, differenceRows } from './differences.js';

const NONE = { added: [], changed: [], disabled: [] };
const price = (version: number, input: string) => ({ version, inputPicoUsd: input, cachedInputPicoUsd: '15000', outputPicoUsd: '600000' });
const CHANGES: CatalogDifferences = {
  models: { added: ['new'], changed: [{ id: 'a', fields: [{ field: 'contextTokens', before: 100, after: 200 }] }], disabled: ['old'] },
  upstreams: { ...NONE, disabled: ['u'] },
  firstPrices: [{ model: 'new', price: price(1, '200000') }],
  repriced: [{ model: 'a', before: price(1, '150000'), after: price(2, '1500000') }],
};

test('a difference is read line by line, first what goes', () => {
  const whole = { field: '', before: null, after: null };
  expect(differenceRows(CHANGES)).toEqual([
    { what: 'disabled', noun: 'model', id: 'old', ...whole },
    { what: 'added', noun: 'model', id: 'new', ...whole, after: '$0.20 / $0.015 / $0.60' },
    {
      ...{ what: 'price', noun: 'model', id: 'a', field: 'price' },
      before: '$0.15 / $0.015 / $0.60',
      after: '$1.50 / $0.015 / $0.60',
    },
    { what: 'changed', noun: 'model', id: 'a', field: 'contextTokens', before: 100, after: 200 },
    { what: 'disabled', noun: 'upstream', id: 'u', ...whole },
  ]);
});

test('a line tells the kinds of changes', () => {
  expect(changesText(CHANGES)).toBe('1 model disabled, 1 model added, 1 model changed, 1 model repriced, 1 upstream disabled');
  expect(changesText({ models: NONE, upstreams: NONE, repriced: [] })).toBe('Only the order');
});
