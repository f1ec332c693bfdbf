import { jest } from '@jest/globals';
import { catalogChanged, modelList, type PricePlan } from '#contracts/catalog.js';
import type { GatewayError } from '#inference/errors.js';
import { MessagingError } from '#messaging/messaging.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { TEST_MODEL } from '#testing/fake-services.js';
import { CatalogClient } from './catalog.js';

function setUp() {
  const messaging = new FakeMessaging();
  const catalog = new CatalogClient(messaging, createLogger('test', 'silent'), 60_000);
  const serve = (revision: number, ...ids: string[]): void =>
    messaging.answer(modelList, () => ({ revision, models: ids.map((id) => ({ ...TEST_MODEL, id })) }));
  const ids = (): string[] => catalog.list({}).map(({ id }) => id);
  return { messaging, catalog, serve, ids };
}

test('a model has its price as integers, and as it is pinned to a hold', async () => {
  const { catalog, serve } = setUp();
  serve(1, 'a');
  await catalog.refresh();
  const { price: pinnedPrice, ...model } = TEST_MODEL;
  expect(catalog.model('a', {})).toEqual({
    ...model,
    id: 'a',
    pinnedPrice,
    price: { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n },
  });
  expect(() => catalog.model('A', {})).toThrow('There is no model "A".');
});

describe('a model that is not found', () => {
  const message = async (models: string[], id: string, allowed?: string[]): Promise<string> => {
    const { catalog, serve } = setUp();
    serve(1, ...models);
    await catalog.refresh();
    try {
      catalog.model(id, { ...(allowed && { mayUse: (one) => allowed.includes(one) }) });
    } catch (error) {
      const { code, param, message: text } = error as GatewayError;
      expect([code, param]).toEqual(['model_not_found', 'model']);
      return text;
    }
    throw new Error('found');
  };

  test('has the nearest one that the key may use in its error', async () => {
    expect(await message(['sim-fast', 'sim-tiny'], 'sim-fas')).toBe('There is no model "sim-fas". Did you mean sim-fast?');
    expect(await message(['sim-fast', 'sim-tiny'], 'gpt-5')).toBe('There is no model "gpt-5".');
  });

  test('is answered like one that the key may not use, with those that it may', async () => {
    const models = ['sim-fast', 'sim-tiny', 'secret-model'];
    const refused = (id: string) => `There is no model "${id}" for this key. This key may call sim-tiny.`;
    expect([await message(models, 'secret-model', ['sim-tiny']), await message(models, 'secret-modal', ['sim-tiny'])]).toEqual([
      refused('secret-model'),
      refused('secret-modal'),
    ]);
    expect(await message(models, 'sim-tin', ['sim-tiny', 'sim-fast'])).toBe(
      'There is no model "sim-tin" for this key. Did you mean sim-tiny? This key may call sim-fast, sim-tiny.',
    );
    expect(await message(models, 'sim-fast', [])).toBe(
      'There is no model "sim-fast" for this key. This key may call none of the present models.',
    );
    const many = Array.from({ length: 7 }, (_, at) => `m${at}`);
    expect(await message([...many, 'x'], 'other', many)).toBe(
      'There is no model "other" for this key. This key may call m0, m1, m2, m3, m4 and 2 more, see GET /v1/models.',
    );
  });
});

test('a change and a reconnect refresh the models; while the catalog is unavailable the last list stays in use', async () => {
  const { messaging, catalog, serve, ids } = setUp();
  serve(1, 'a');
  catalog.onModuleInit();
  await catalog.refresh();
  serve(2, 'a', 'b');
  messaging.publish(catalogChanged, { revision: 2 });
  await catalog.refresh();
  expect(ids()).toEqual(['a', 'b']);
  serve(3, 'c');
  messaging.reconnect();
  await catalog.refresh();
  expect(ids()).toEqual(['c']);
  messaging.answer(modelList, () => {
    throw new MessagingError('unavailable', 'no responders');
  });
  await catalog.refresh();
  expect(ids()).toEqual(['c']);
  catalog.onApplicationShutdown();
});

test('before the first catalog it is not loaded, and throws', async () => {
  const { catalog } = setUp();
  expect(catalog.loaded).toBe(false);
  expect(() => catalog.model('a', {})).toThrow('The models are not known yet. Try again.');
});

describe('a price plan', () => {
  const own = { inputPicoUsd: '7', cachedInputPicoUsd: '1', outputPicoUsd: '9' };
  const gold = { id: 'gold', discountPercent: '12.5', models: [{ id: 'b', price: own }] };

  function setUpPlans() {
    const warnings: unknown[] = [];
    const logger = { ...createLogger('test', 'silent'), warn: (fields: unknown) => warnings.push(fields) } as never;
    const messaging = new FakeMessaging();
    const catalog = new CatalogClient(messaging, logger, 60_000);
    const serve = (revision: number, ...pricePlans: PricePlan[]): Promise<void> => {
      messaging.answer(modelList, () => ({ revision, models: [TEST_MODEL, { ...TEST_MODEL, id: 'b' }], pricePlans }));
      return catalog.refresh();
    };
    const prices = (pricePlan?: string) =>
      catalog.list({ ...(pricePlan !== undefined && { pricePlan }) }).map(({ price, pinnedPrice }) => [price.outputPicoUsd, pinnedPrice]);
    return { catalog, serve, prices, warnings };
  }

  test('gives the callers who have it its prices, and pins its name with the version of the list price', async () => {
    const { serve, prices, warnings } = setUpPlans();
    await serve(1, gold);
    const discounted = { inputPicoUsd: '131250', cachedInputPicoUsd: '13125', outputPicoUsd: '525000' };
    expect(prices('gold')).toEqual([
      [525_000n, { version: 7, ...discounted, pricePlan: 'gold' }],
      [9n, { version: 7, ...own, pricePlan: 'gold' }],
    ]);
    expect(prices()).toEqual([
      [600_000n, TEST_MODEL.price],
      [600_000n, TEST_MODEL.price],
    ]);
    expect(warnings).toEqual([]);
  });

  test('that the catalog lacks means list prices and one warning for each revision', async () => {
    const { serve, prices, warnings } = setUpPlans();
    await serve(1);
    expect([prices('gold'), prices('gold')]).toEqual([prices(), prices()]);
    expect(warnings).toEqual([{ pricePlan: 'gold' }]);
    await serve(2, gold);
    expect(prices('gold')[1]?.[0]).toBe(9n);
    await serve(3);
    expect(prices('gold')).toEqual(prices());
    expect(warnings).toEqual([{ pricePlan: 'gold' }, { pricePlan: 'gold' }]);
  });

  test('with a free model lets accounts without money call', async () => {
    const { catalog, serve } = setUpPlans();
    await serve(1, { id: 'free', discountPercent: '100', models: [] });
    expect([catalog.hasFreeModel({ pricePlan: 'free' }), catalog.hasFreeModel({})]).toEqual([true, false]);
  });
});

describe('a scheduled price', () => {
  const prices = (version: number, outputPicoUsd: string) => ({ ...TEST_MODEL.price, version, outputPicoUsd });
  const AT = Date.parse('2027-01-01T00:00:00Z');
  const gold = { id: 'gold', discountPercent: '50', models: [] };
  const now = jest.spyOn(Date, 'now');
  afterAll(() => now.mockRestore());

  function setUpSchedule(...effectiveAt: number[]) {
    const { messaging, catalog } = setUp();
    const scheduledPrices = effectiveAt.map((at, position) => ({
      model: 'b',
      price: prices(8 + position, `${position + 1}000`),
      effectiveAt: new Date(at).toISOString(),
    }));
    messaging.answer(modelList, () => ({
      revision: 1,
      models: [TEST_MODEL, { ...TEST_MODEL, id: 'b' }],
      pricePlans: [gold],
      scheduledPrices,
    }));
    const pinned = (pricePlan?: string) => {
      const { price, pinnedPrice } = catalog.model('b', { ...(pricePlan !== undefined && { pricePlan }) });
      return [price.outputPicoUsd, pinnedPrice.version];
    };
    return { messaging, catalog, pinned };
  }

  test('is in force from its time on while the catalog is away, in price plans too', async () => {
    const { messaging, catalog, pinned } = setUpSchedule(AT, AT + 10, AT + 20);
    now.mockReturnValue(AT - 1);
    await catalog.refresh();
    expect([pinned(), pinned('gold')]).toEqual([
      [600_000n, 7],
      [300_000n, 7],
    ]);
    messaging.answer(modelList, () => {
      throw new MessagingError('unavailable', 'no responders');
    });
    await catalog.refresh();
    now.mockReturnValue(AT);
    expect([pinned(), pinned('gold')]).toEqual([
      [1_000n, 8],
      [500n, 8],
    ]);
    now.mockReturnValue(AT + 25); // two at once: the last one counts
    expect([pinned(), pinned('gold')]).toEqual([
      [3_000n, 10],
      [1_500n, 10],
    ]);
    expect(catalog.model(TEST_MODEL.id, {}).price.outputPicoUsd).toBe(600_000n);
  });

  test('and a price plan of a caller are each in force from their own time on', async () => {
    const { catalog } = setUpSchedule(AT + 10);
    now.mockReturnValue(AT - 1);
    await catalog.refresh();
    const price = () =>
      [{ pricePlan: 'gold', nextPricePlan: { pricePlan: undefined, from: AT } }, { nextPricePlan: { pricePlan: 'gold', from: AT } }].map(
        (caller) => catalog.model('b', caller).price.outputPicoUsd,
      );
    expect(price()).toEqual([300_000n, 600_000n]);
    now.mockReturnValue(AT);
    expect(price()).toEqual([600_000n, 300_000n]);
    now.mockReturnValue(AT + 10);
    expect(price()).toEqual([1_000n, 500n]);
  });

  test('is that of the newest answer: a cancelled one is not used', async () => {
    const { catalog, messaging, pinned } = setUpSchedule(AT);
    now.mockReturnValue(AT - 1);
    await catalog.refresh();
    messaging.answer(modelList, () => ({ revision: 1, models: [TEST_MODEL, { ...TEST_MODEL, id: 'b' }] }));
    await catalog.refresh();
    now.mockReturnValue(AT + 1);
    expect(pinned()).toEqual([600_000n, 7]);
  });
});
