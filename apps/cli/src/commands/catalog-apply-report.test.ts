import type { CatalogChanges } from '#contracts/catalog.js';
import { renderApplied } from './catalog-report.js';

const NONE: CatalogChanges = {
  models: { added: [], changed: [], disabled: [] },
  upstreams: { added: [], changed: [], disabled: [] },
  repriced: [],
};
const reply = { revision: 11, changed: true, models: 0, upstreams: 1 };
const price = (version: number, input: string) => ({ version, inputPicoUsd: input, cachedInputPicoUsd: '0', outputPicoUsd: '600000' });

test('names every change of an apply, removals first, and cuts long lists', () => {
  const changes: CatalogChanges = {
    models: {
      added: ['new'],
      changed: [{ id: 'other', fields: ['contextTokens', 'routes'] }],
      disabled: Array.from({ length: 52 }, (_, number) => `m${number}`),
    },
    upstreams: { added: ['vllm'], changed: [{ id: 'local', fields: ['baseUrl'] }], disabled: [] },
    repriced: [{ model: 'other', before: price(1, '150000'), after: price(2, '1500000') }],
  };
  expect(renderApplied({ ...reply, changes }).split('\n')).toEqual([
    'applied: revision 11, 0 models, 1 upstream',
    '  disabled 52 models: m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19 and 32 more',
    '  added 1 model: new',
    '  changed 1 model: other (contextTokens, routes)',
    '  repriced 1 model, input / cached input / output per million tokens:',
    '    other: $0.15 / $0.00 / $0.60 -> $1.50 / $0.00 / $0.60',
    '  added 1 upstream: vllm',
    '  changed 1 upstream: local (baseUrl)',
  ]);
});

test.each([
  ['nothing', { ...reply, changed: false }, 'nothing to change: revision 11, 0 models, 1 upstream'],
  ['only the order', { ...reply, changes: NONE }, 'applied: revision 11, 0 models, 1 upstream\n  only the order changed'],
  ['no details from the service', reply, 'applied: revision 11, 0 models, 1 upstream'],
])('renders an apply that changed: %s', (_, applied, text) => {
  expect(renderApplied(applied)).toBe(text);
});
