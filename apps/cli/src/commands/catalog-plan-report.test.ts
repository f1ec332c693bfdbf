import type { CatalogDifferences } from '#contracts/catalog-revisions.js';
import { renderPlan, renderRated } from './catalog-report.js';

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

describe('what a month would have cost', () => {
  const usage = (requests: number, before: string, after: string) => ({
    ...{ requests, chargedPicoUsd: '2500000000000', beforePicoUsd: before, afterPicoUsd: after },
  });
  const month = '2027-01';
  const rated = {
    accounts: [
      { accountId: 'a-1', name: 'acme', ...usage(2, '3000000000000', '1000000000001') },
      { accountId: 'a-2', name: 'beta', ...usage(10, '1000000', '2000000') },
    ],
    accountCount: 2,
    total: usage(12, '3000001000000', '1000002000001'),
    imagesUnknown: 0,
  };

  test('each account, and all', () => {
    expect(renderRated({ month, rated }).join('\n')).toBe(`
the models whose prices may change, in 2027-01:
ACCOUNT  ID   REQUESTS  CHARGED  NOW WOULD COST  THEN WOULD COST  CHANGE
acme     a-1         2  $2.50    $3.00           $1.000000000001  -$1.999999999999
beta     a-2        10  $2.50    $0.000001       $0.000002        $0.000001
all 2    -          12  $2.50    $3.000001       $1.000002000001  -$1.999998999999`);
  });

  test('no usage, requests whose images are unknown, and a billing that did not answer', () => {
    const none = { ...rated, accounts: [], accountCount: 0, imagesUnknown: 3 };
    expect(renderRated({ month, rated: none })).toEqual([
      ...['', 'the models whose prices may change, in 2027-01:', 'no usage'],
      '3 requests without images: the journal does not have their number',
    ]);
    expect(renderRated({ month, notRated: 'it is away.' })).toEqual(['', 'the usage of 2027-01 was not priced: it is away.']);
  });
});
