import { parseCatalogFile } from '../file/parse-catalog-file.js';
import type { CatalogState } from './catalog-state.js';
import { planCatalog } from './plan-catalog.js';

const TEXT = `upstreams:
  - { id: u, kind: openai-chat, baseUrl: http://u/v1 }
models:
  - id: a
    ownedBy: us
    created: 1
    contextTokens: 100
    maxOutputTokens: 10
    price: { inputUsdPerMTok: "1", cachedInputUsdPerMTok: "0", outputUsdPerMTok: "2" }
    routes: [{ upstream: u, model: a }]
`;

/** A store that has the text as revision 7. */
const store = {
  read: async (): Promise<CatalogState> => {
    const { upstreams, models, pricePlans } = parseCatalogFile(TEXT, 'c.yaml', () => undefined);
    return {
      revision: 7,
      upstreams: upstreams.map((upstream, position) => ({ ...upstream, position })),
      models: models.map(({ routes, ...model }, position) => ({
        ...model,
        created: model.created ?? 0,
        position,
        price: { version: 3, ...model.price },
        routes: routes.map((route, place) => ({ ...route, enabled: true, position: place })),
      })),
      services: [],
      pricePlans: pricePlans.map((plan, position) => ({ ...plan, position })),
      scheduledPrices: [],
    };
  },
};
const plan = (text: string) => planCatalog(store, text, () => undefined);
const priced = (text: string) => planCatalog(store, text, () => undefined, { withPrices: true });

test('the faults of a text have their lines, in the order of the file', async () => {
  const faulty = TEXT.replace('contextTokens: 100', 'contextTokens: many').replace('baseUrl: http://u/v1', 'baseUrl: u');
  expect(await plan(faulty)).toEqual({
    revision: 7,
    faults: [
      { line: 2, field: 'upstreams[0].baseUrl', problem: expect.stringMatching(/^must be an http/) },
      { line: 7, field: 'models[0].contextTokens', problem: expect.stringMatching(/^must be a whole number/) },
    ],
    changes: null,
  });
});

test('an equal text has neither faults nor changes', async () => {
  expect(await plan(`# another comment\n${TEXT}`)).toEqual({ revision: 7, faults: [], changes: null });
});

test('the changes of a text have their values, and prices before and after', async () => {
  const none = { added: [], changed: [], disabled: [] };
  const price = (version: number, output: string) => ({
    version,
    inputPicoUsd: '1000000',
    cachedInputPicoUsd: '0',
    outputPicoUsd: output,
  });
  expect(await plan(TEXT.replace('outputUsdPerMTok: "2"', 'outputUsdPerMTok: "3"').replace('ownedBy: us', 'ownedBy: them'))).toEqual({
    revision: 7,
    faults: [],
    changes: {
      models: { ...none, changed: [{ id: 'a', fields: [{ field: 'ownedBy', before: 'us', after: 'them' }] }] },
      upstreams: none,
      repriced: [{ model: 'a', before: price(3, '2000000'), after: price(4, '3000000') }],
    },
  });
});

describe('with prices', () => {
  const before = { inputUsdPerMTok: '1.00', cachedInputUsdPerMTok: '0.00', outputUsdPerMTok: '2.00' };

  test('those of both catalogs, where a model is repriced', async () => {
    expect((await priced(TEXT.replace('outputUsdPerMTok: "2"', 'outputUsdPerMTok: "3"'))).prices).toEqual({
      models: [{ id: 'a', before, after: { ...before, outputUsdPerMTok: '3.00' } }],
      plansBefore: [],
      plansAfter: [],
    });
  });

  test('those of all models, where a price plan changes', async () => {
    const plans =
      'pricePlans: [{ id: p, discountPercent: 10, models: [{ id: a, price: { inputUsdPerMTok: "1", cachedInputUsdPerMTok: "0", outputUsdPerMTok: "1" } }] }]\n';
    expect((await priced(TEXT + plans)).prices).toEqual({
      models: [{ id: 'a', before, after: before }],
      plansBefore: [],
      plansAfter: [{ id: 'p', discountPercent: '10', models: [{ id: 'a', price: { ...before, outputUsdPerMTok: '1.00' } }] }],
    });
  });

  test.each([
    ['an equal text', TEXT],
    ['a change of other fields', TEXT.replace('ownedBy: us', 'ownedBy: them')],
    ['a model that goes', TEXT.replace('    ownedBy: us', '    ownedBy: us\n    enabled: false')],
    ['faults', 'models: 7'],
  ])('none for %s', async (_, text) => {
    expect(await priced(text)).not.toHaveProperty('prices');
  });
});
