import type { CatalogState, StoredModel } from './apply/catalog-state.js';
import { CapabilitiesEntry, TimeoutsEntry } from './file/catalog-file.schema.js';
import { renderModelList, renderRouteList } from './render-replies.js';

const route = { upstream: 'local', model: 'a', weight: 2, priority: 1 };
const model: StoredModel = {
  id: 'a',
  enabled: true,
  position: 0,
  ownedBy: 'us',
  displayName: 'Model A',
  created: 1_700_000_000,
  contextTokens: 1_000,
  maxOutputTokens: 100,
  defaultOutputTokens: 50,
  input: ['text', 'image'],
  reasoning: true,
  unit: null,
  tokensPerImageMax: 1_600,
  price: { version: 3, inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n },
  routes: [
    { ...route, enabled: true, position: 0 },
    { ...route, model: 'old', enabled: false, position: 0 },
    { ...route, upstream: 'off', enabled: true, position: 1 },
  ],
};
const upstream = {
  id: 'local',
  kind: 'openai-chat' as const,
  baseUrl: 'http://127.0.0.1:9100/v1',
  apiKeyEnv: null,
  allowPrivateNetwork: true,
  capabilities: { ...new CapabilitiesEntry() },
  timeouts: { ...new TimeoutsEntry() },
  connectionsMax: 256,
};
const state: CatalogState = {
  revision: 9,
  upstreams: [
    { ...upstream, enabled: true, position: 0 },
    { ...upstream, id: 'off', enabled: false, position: 1 },
  ],
  models: [model, { ...model, id: 'off', enabled: false, position: 1 }],
  services: [],
  pricePlans: [],
  scheduledPrices: [],
};

test('the model list has enabled models with their price version, without upstreams', () => {
  expect(renderModelList(state)).toEqual({
    revision: 9,
    models: [
      {
        id: 'a',
        ownedBy: 'us',
        displayName: 'Model A',
        created: 1_700_000_000,
        contextTokens: 1_000,
        maxOutputTokens: 100,
        defaultOutputTokens: 50,
        input: ['text', 'image'],
        reasoning: true,
        tokensPerImageMax: 1_600,
        reasoningEcho: false,
        price: { version: 3, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
      },
    ],
  });
});

test('the route list says which models are for embeddings', () => {
  const models = [model, { ...model, id: 'b', embeddingDimensions: 8 }];
  expect(renderRouteList({ ...state, models }).models.map(({ id, embeds }) => [id, embeds])).toEqual([
    ['a', undefined],
    ['b', true],
  ]);
});

test.each<[string, boolean, boolean, boolean]>([
  ['a route to an upstream that wants reasoning back', true, true, true],
  ['a route that is off', false, true, false],
  ['an upstream that is off', true, false, false],
])('reasoning goes back by %s: %j %j', (_what, routeEnabled, upstreamEnabled, expected) => {
  const echoing = { ...upstream, capabilities: { ...upstream.capabilities, reasoningEcho: true }, id: 'echoing' };
  const { models } = renderModelList({
    ...state,
    upstreams: [...state.upstreams, { ...echoing, enabled: upstreamEnabled, position: 2 }],
    models: [{ ...model, routes: [...model.routes, { ...route, upstream: 'echoing', enabled: routeEnabled, position: 1 }] }],
  });
  expect(models.map(({ reasoningEcho }) => reasoningEcho)).toEqual([expected]);
});

test.each<[boolean | undefined, boolean, boolean]>([
  [true, false, true],
  [false, true, false],
  [undefined, true, true],
])('a route that says %j of an upstream with reasoningEcho %j: %j', (own, ofUpstream, expected) => {
  const echoing = { ...upstream, capabilities: { ...upstream.capabilities, reasoningEcho: ofUpstream }, enabled: true, position: 0 };
  const capabilities = own === undefined ? null : { reasoningEcho: own };
  const { models } = renderModelList({
    ...state,
    upstreams: [echoing],
    models: [{ ...model, routes: [{ ...route, capabilities, enabled: true, position: 0 }] }],
  });
  expect(models.map(({ reasoningEcho }) => reasoningEcho)).toEqual([expected]);
});

test('the route list has enabled upstreams and the enabled routes to them', () => {
  expect(renderRouteList(state)).toEqual({ revision: 9, upstreams: [upstream], models: [{ id: 'a', routes: [route] }] });
});

test('the model list has the enabled price plans', () => {
  const plan = { id: 'gold', discountPercent: '10', models: [] };
  const pricePlans = [
    { ...plan, enabled: true, position: 0 },
    { ...plan, id: 'old', enabled: false, position: 1 },
  ];
  expect(renderModelList({ ...state, pricePlans }).pricePlans).toEqual([plan]);
});

test('the model list has the prices that are scheduled, with the versions that they will have', () => {
  const prices = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };
  const dearer = { ...prices, requestPicoUsd: 7n };
  const at = (day: number): Date => new Date(Date.UTC(2027, 0, day));
  const scheduledPrices = [
    { id: '1', modelId: 'a', price: prices, effectiveAt: at(1) },
    { id: '2', modelId: 'a', price: dearer, effectiveAt: at(2) },
    { id: '3', modelId: 'off', price: dearer, effectiveAt: at(3) },
    { id: '4', modelId: 'a', price: prices, effectiveAt: at(4) },
  ];
  const text = { inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
  expect(renderModelList({ ...state, scheduledPrices }).scheduledPrices).toEqual([
    { model: 'a', price: { version: 3, ...text }, effectiveAt: '2027-01-01T00:00:00.000Z' },
    { model: 'a', price: { version: 4, ...text, requestPicoUsd: '7' }, effectiveAt: '2027-01-02T00:00:00.000Z' },
    { model: 'a', price: { version: 5, ...text }, effectiveAt: '2027-01-04T00:00:00.000Z' },
  ]);
});
