import { catalogChanged, modelList } from '#contracts/catalog.js';
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
