import type { CatalogDifferences } from '#contracts/catalog-revisions.js';
import { renderPlan } from './catalog-report.js';

const NONE = { added: [], changed: [], disabled: [] };
const changes = (over: Partial<CatalogDifferences>) => ({ models: NONE, upstreams: NONE, repriced: [], ...over });
const price = (version: number, input: string) => ({ version, inputPicoUsd: input, cachedInputPicoUsd: '0', outputPicoUsd: '600000' });

test.each([
  [
    'faults',
    {
      faults: [
        { line: 3, field: '', problem: 'not valid YAML' },
        { line: 12, field: 'models[0].price', problem: 'must be a group of fields' },
      ],
      changes: null,
    },
    'line 3: not valid YAML\nline 12: models[0].price: must be a group of fields',
  ],
  ['nothing', { faults: [], changes: null }, 'nothing to change: revision 7 is equal'],
  ['another order', { faults: [], changes: changes({}) }, 'would change revision 7:\n  only the order'],
  [
    'each kind of change',
    {
      faults: [],
      changes: changes({
        models: {
          added: ['new'],
          changed: [
            {
              id: 'a',
              fields: [
                { field: 'contextTokens', before: 100, after: 200 },
                { field: 'displayName', before: 'A'.repeat(200), after: null },
              ],
            },
          ],
          disabled: ['b', 'c'],
        },
        repriced: [{ model: 'a', before: price(1, '150000'), after: price(2, '1500000') }],
        upstreams: { ...NONE, changed: [{ id: 'u', fields: [{ field: 'tls', before: null, after: { caFile: 'ca.pem' } }] }] },
      }),
    },
    `would change revision 7:
  disable 2 models: b, c
  add 1 model: new
  change model a
    contextTokens: 100 -> 200
    displayName: "${'A'.repeat(119)}… -> null
  repriced 1 model, input / cached input / output per million tokens:
    a: $0.15 / $0.00 / $0.60 -> $1.50 / $0.00 / $0.60
  change upstream u
    tls: null -> {"caFile":"ca.pem"}`,
  ],
])('renders a plan with %s', (_, plan, text) => {
  expect(renderPlan({ revision: 7, ...plan })).toBe(text);
});
