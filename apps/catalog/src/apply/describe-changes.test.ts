import type { CatalogChanges } from '#contracts/catalog.js';
import { parseCatalogFile } from '../file/parse-catalog-file.js';
import type { CatalogEntries } from './catalog-state.js';
import { describeChanges, describeDifferences } from './describe-changes.js';
import { planChanges } from './plan-changes.js';

interface File {
  upstreams: { id: string }[];
  models: { id: string; routes: object[] }[];
  pricePlans?: object[];
}

const upstream = (id: string, over: object = {}) => ({ id, kind: 'openai-chat', baseUrl: 'http://u/v1', ...over });
const model = (id: string, over: object = {}) => ({
  id,
  ownedBy: 'us',
  created: 1,
  contextTokens: 100,
  maxOutputTokens: 10,
  price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '2' },
  routes: [{ upstream: 'u', model: id }],
  ...over,
});
const BEFORE: File = { upstreams: [upstream('u'), upstream('v')], models: [model('a'), model('b'), model('off', { enabled: false })] };
const NONE: CatalogChanges = {
  models: { added: [], changed: [], disabled: [] },
  upstreams: { added: [], changed: [], disabled: [] },
  repriced: [],
};

function stored({ upstreams, models, pricePlans = [] }: File): CatalogEntries {
  const wanted = parseCatalogFile(JSON.stringify({ upstreams, models, pricePlans }), 'c.yaml', () => undefined);
  return {
    upstreams: wanted.upstreams.map((row, position) => ({ ...row, position })),
    models: wanted.models.map(({ price, routes, ...row }, position) => ({
      ...row,
      created: row.created ?? 0,
      position,
      price: { version: 1, ...price },
      routes: routes.map((route, place) => ({ ...route, enabled: true, position: place })),
    })),
    services: [],
    pricePlans: wanted.pricePlans.map((plan, position) => ({ ...plan, position })),
  };
}

function described(file: Partial<File>): CatalogChanges {
  const before = stored(BEFORE);
  const wanted = parseCatalogFile(JSON.stringify({ ...BEFORE, ...file }), 'c.yaml', () => undefined);
  return describeChanges(before, planChanges(before, wanted, 0));
}

test.each<[what: string, file: Partial<File>, changes: Partial<CatalogChanges>]>([
  ['nothing', {}, {}],
  ['all models taken off', { models: [] }, { models: { added: [], changed: [], disabled: ['a', 'b'] } }],
  [
    'a new model before the others, whose places change',
    { models: [model('new'), ...BEFORE.models] },
    { models: { added: ['new'], changed: [], disabled: [] } },
  ],
  ['another order', { models: BEFORE.models.toReversed(), upstreams: BEFORE.upstreams.toReversed() }, {}],
  [
    'one enabled again, one disabled',
    { models: [model('a', { enabled: false }), model('b'), model('off')] },
    { models: { added: ['off'], changed: [], disabled: ['a'] } },
  ],
  [
    'fields and routes',
    {
      models: [
        model('a', { contextTokens: 200, routes: [{ upstream: 'v', model: 'a' }] }),
        model('b', { routes: [{ upstream: 'u', model: 'b', weight: 2 }] }),
        model('off', { enabled: false, reasoning: true }),
      ],
    },
    {
      models: {
        added: [],
        changed: [
          { id: 'a', fields: ['contextTokens', 'routes'] },
          { id: 'off', fields: ['reasoning'] },
          { id: 'b', fields: ['routes'] },
        ],
        disabled: [],
      },
    },
  ],
  [
    'upstreams of each kind',
    { upstreams: [upstream('u', { capabilities: { stop: false } }), upstream('w')] },
    { upstreams: { added: ['w'], changed: [{ id: 'u', fields: ['capabilities'] }], disabled: ['v'] } },
  ],
  [
    'a price, from and to',
    {
      models: [
        model('a', { price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '3' } }),
        ...BEFORE.models.slice(1),
        model('new'),
      ],
    },
    {
      models: { added: ['new'], changed: [], disabled: [] },
      repriced: [
        {
          model: 'a',
          before: { version: 1, inputPicoUsd: '1000000', cachedInputPicoUsd: '0', outputPicoUsd: '2000000' },
          after: { version: 2, inputPicoUsd: '1000000', cachedInputPicoUsd: '0', outputPicoUsd: '3000000' },
        },
      ],
    },
  ],
])('the description of an apply: %s', (_, file, changes) => {
  expect(described(file)).toEqual({ ...NONE, ...changes });
});

test('differences have the values of the fields, and the routes of a model as a whole', () => {
  const before = stored({ ...BEFORE, models: [model('a', { displayName: 'A' }), model('b')] });
  const after = {
    upstreams: [upstream('u', { baseUrl: 'http://other/v1' }), upstream('v')],
    models: [
      model('a', { contextTokens: 200, routes: [{ upstream: 'v', model: 'a', weight: 2 }] }),
      model('b', {
        routes: [
          { upstream: 'v', model: 'b' },
          { upstream: 'u', model: 'b' },
        ],
      }),
    ],
  };
  const wanted = parseCatalogFile(JSON.stringify(after), 'c.yaml', () => undefined);
  const route = (upstream: string, id: string, weight = 1) => ({
    upstream,
    model: id,
    weight,
    priority: 0,
    concurrencyMax: null,
    capabilities: null,
    cost: null,
  });
  expect(describeDifferences(before, planChanges(before, wanted, 0))).toEqual({
    models: {
      added: [],
      changed: [
        {
          id: 'a',
          fields: [
            { field: 'contextTokens', before: 100, after: 200 },
            { field: 'displayName', before: 'A', after: null },
            { field: 'routes', before: [route('u', 'a')], after: [route('v', 'a', 2)] },
          ],
        },
        { id: 'b', fields: [{ field: 'routes', before: [route('u', 'b')], after: [route('v', 'b'), route('u', 'b')] }] },
      ],
      disabled: [],
    },
    upstreams: {
      added: [],
      changed: [{ id: 'u', fields: [{ field: 'baseUrl', before: 'http://u/v1', after: 'http://other/v1' }] }],
      disabled: [],
    },
    repriced: [],
  });
});

test('differences have the prices of new models', () => {
  const before = stored(BEFORE);
  const wanted = parseCatalogFile(JSON.stringify({ ...BEFORE, models: [...BEFORE.models, model('new')] }), 'c.yaml', () => undefined);
  expect(describeDifferences(before, planChanges(before, wanted, 0)).firstPrices).toEqual([
    { model: 'new', price: { version: 1, inputPicoUsd: '1000000', cachedInputPicoUsd: '0', outputPicoUsd: '2000000' } },
  ]);
});

test('price plans are described like models and upstreams', () => {
  const own = { id: 'a', price: { inputUsdPerMTok: '0.5', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '1' } };
  const before = stored({ ...BEFORE, pricePlans: [{ id: 'gone' }, { id: 'changed', discountPercent: 10 }] });
  const after = { ...BEFORE, pricePlans: [{ id: 'new' }, { id: 'changed', discountPercent: '12.50', models: [own] }] };
  const wanted = parseCatalogFile(JSON.stringify(after), 'c.yaml', () => undefined);
  const models = [{ id: 'a', price: { inputPicoUsd: '500000', cachedInputPicoUsd: '0', outputPicoUsd: '1000000' } }];
  const plans = describeDifferences(before, planChanges(before, wanted, 0)).pricePlans;
  expect(plans).toEqual({
    added: ['new'],
    changed: [
      {
        id: 'changed',
        fields: [
          { field: 'discountPercent', before: '10', after: '12.5' },
          { field: 'models', before: [], after: models },
        ],
      },
    ],
    disabled: ['gone'],
  });
  expect(describeChanges(before, planChanges(before, wanted, 0)).pricePlans).toEqual({
    added: ['new'],
    changed: [{ id: 'changed', fields: ['discountPercent', 'models'] }],
    disabled: ['gone'],
  });
});
