import { CapabilitiesEntry, TimeoutsEntry } from '../file/catalog-file.schema.js';
import type { WantedCatalog, WantedModel, WantedUpstream } from '../file/parse-catalog-file.js';
import type { CatalogEntries, StoredModel } from './catalog-state.js';
import { type Changes, isEmpty, planChanges } from './plan-changes.js';

const NOW = 1_800_000_000;
const NOTHING: Changes = { upstreams: [], models: [], prices: [], routes: [], pricePlans: [], services: [] };

const upstream: WantedUpstream = {
  id: 'local',
  kind: 'openai-chat',
  enabled: true,
  baseUrl: 'http://127.0.0.1:9100/v1',
  apiKeyEnv: null,
  allowPrivateNetwork: true,
  capabilities: { ...new CapabilitiesEntry() },
  timeouts: { ...new TimeoutsEntry() },
  connectionsMax: 256,
};
const price = { inputPicoUsd: 3n, cachedInputPicoUsd: 2n, outputPicoUsd: 5n };
const limits = {
  ownedBy: 'us',
  displayName: null,
  enabled: true,
  contextTokens: 1_000,
  maxOutputTokens: 100,
  defaultOutputTokens: 50,
  input: ['text' as const],
  reasoning: false,
  tokensPerImageMax: 1_600,
  unit: null,
};
const route = { upstream: 'local', model: 'a', weight: 1, priority: 0 };
const model: WantedModel = { id: 'a', ...limits, created: null, price, routes: [route] };
const wanted: WantedCatalog = { upstreams: [upstream], models: [model], pricePlans: [], services: [] };

const storedModel: StoredModel = {
  id: 'a',
  ...limits,
  created: 1_700_000_000,
  position: 0,
  price: { version: 1, ...price },
  routes: [{ ...route, enabled: true, position: 0 }],
};
const { price: _price, routes: _routes, ...storedModelRow } = storedModel;
const stored: CatalogEntries = {
  upstreams: [{ ...upstream, position: 0 }],
  models: [storedModel],
  pricePlans: [],
  services: [],
};
const empty: CatalogEntries = { upstreams: [], models: [], pricePlans: [], services: [] };

test('in an empty catalog everything is new; created defaults to the time of the first apply', () => {
  expect(planChanges(empty, wanted, NOW)).toEqual({
    upstreams: [{ ...upstream, position: 0 }],
    models: [{ ...storedModelRow, created: NOW }],
    prices: [{ modelId: 'a', version: 1, ...price }],
    routes: [{ modelId: 'a', ...route, enabled: true, position: 0 }],
    pricePlans: [],
    services: [],
  });
});

test('an equal catalog has no changes and keeps created', () => {
  const changes = planChanges(stored, wanted, NOW);
  expect(changes).toEqual(NOTHING);
  expect(isEmpty(changes)).toBe(true);
});

test.each<[what: string, wanted: WantedCatalog, changes: Partial<Changes>]>([
  [
    'a price: the next version, and no other row',
    { ...wanted, models: [{ ...model, price: { ...price, cachedInputPicoUsd: 1n } }] },
    { prices: [{ modelId: 'a', version: 2, ...price, cachedInputPicoUsd: 1n }] },
  ],
  [
    'a limit: the model alone',
    { ...wanted, models: [{ ...model, maxOutputTokens: 99 }] },
    { models: [{ ...storedModelRow, maxOutputTokens: 99 }] },
  ],
  ['a stated created', { ...wanted, models: [{ ...model, created: 5 }] }, { models: [{ ...storedModelRow, created: 5 }] }],
  ['enabled: false of a model', { ...wanted, models: [{ ...model, enabled: false }] }, { models: [{ ...storedModelRow, enabled: false }] }],
  [
    'a capability of an upstream',
    { ...wanted, upstreams: [{ ...upstream, capabilities: { ...upstream.capabilities, stop: false } }] },
    { upstreams: [{ ...upstream, capabilities: { ...upstream.capabilities, stop: false }, position: 0 }] },
  ],
  [
    'enabled: false of an upstream, whose routes stay',
    { ...wanted, upstreams: [{ ...upstream, enabled: false }] },
    { upstreams: [{ ...upstream, enabled: false, position: 0 }] },
  ],
  [
    'a weight: the route alone',
    { ...wanted, models: [{ ...model, routes: [{ ...route, weight: 2 }] }] },
    { routes: [{ modelId: 'a', ...route, weight: 2, enabled: true, position: 0 }] },
  ],
  [
    'another target: a new route, and the old one disabled',
    { ...wanted, models: [{ ...model, routes: [{ ...route, model: 'b' }] }] },
    {
      routes: [
        { modelId: 'a', ...route, model: 'b', enabled: true, position: 0 },
        { modelId: 'a', ...route, enabled: false, position: 0 },
      ],
    },
  ],
  [
    'a model put before it: its place',
    { ...wanted, models: [{ ...model, id: 'first' }, model] },
    {
      models: [
        { ...storedModelRow, id: 'first', created: NOW },
        { ...storedModelRow, position: 1 },
      ],
      prices: [{ modelId: 'first', version: 1, ...price }],
      routes: [{ modelId: 'first', ...route, enabled: true, position: 0 }],
    },
  ],
  [
    'nothing named: all disabled, nothing deleted',
    { upstreams: [], models: [], pricePlans: [], services: [] },
    { upstreams: [{ ...upstream, enabled: false, position: 0 }], models: [{ ...storedModelRow, enabled: false }] },
  ],
])('a changed file changes only what differs: %s', (_, file, changes) => {
  expect(planChanges(stored, file, NOW)).toEqual({ ...NOTHING, ...changes });
});

test('a disabled entry is not disabled again', () => {
  const disabled = {
    upstreams: stored.upstreams.map((row) => ({ ...row, enabled: false })),
    models: [{ ...storedModel, enabled: false }],
    pricePlans: [],
    services: [],
  };
  expect(planChanges(disabled, empty as WantedCatalog, NOW)).toEqual(NOTHING);
});

test('a model that is named again is enabled, and its price history goes on', () => {
  const disabled = { ...stored, models: [{ ...storedModel, enabled: false, price: { version: 4, ...price } }] };
  const dearer = { ...price, outputPicoUsd: 6n };
  expect(planChanges(disabled, { ...wanted, models: [{ ...model, price: dearer }] }, NOW)).toEqual({
    ...NOTHING,
    models: [storedModelRow],
    prices: [{ modelId: 'a', version: 5, ...dearer }],
  });
});
