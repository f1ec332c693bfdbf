import { Registry } from 'prom-client';
import { catalogChanged } from '#contracts/catalog.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { Announcements } from './announcements.js';
import type { CatalogState, WaitingPrice } from './apply/catalog-state.js';
import { createCatalogMetrics } from './catalog.metrics.js';
import { Snapshot } from './snapshot.js';

/** A store controlled by the test. */
class FakeStore {
  revision = 1;
  scheduledPrices: WaitingPrice[] = [];
  down = false;
  reads = 0;
  gate: Promise<void> = Promise.resolve();

  async readVersion() {
    if (this.down) throw new Error('connection refused');
    return { revision: this.revision, scheduled: this.scheduledPrices.map(({ id }) => id).join(' ') };
  }

  async read(): Promise<CatalogState> {
    if (this.down) throw new Error('connection refused');
    this.reads += 1;
    const state = {
      revision: this.revision,
      upstreams: [],
      models: [],
      pricePlans: [],
      services: [],
      scheduledPrices: this.scheduledPrices,
    };
    await this.gate;
    return state;
  }
}

function make() {
  const store = new FakeStore();
  const metrics = createCatalogMetrics(new Registry());
  const messaging = new FakeMessaging();
  const announcements = new Announcements(messaging);
  const published: number[] = [];
  messaging.subscribe(catalogChanged, ({ revision }) => published.push(revision));
  return {
    store,
    metrics,
    announcements,
    published,
    snapshot: new Snapshot(store, announcements, createLogger('catalog', 'silent'), metrics),
  };
}

const unavailable = expect.objectContaining({ name: 'ServiceError', code: 'unavailable' });

test('before the first read calls are refused as unavailable', async () => {
  const { snapshot } = make();
  expect(snapshot.exists).toBe(false);
  await expect(snapshot.modelList()).rejects.toEqual(unavailable);
});

test('a call before the first read waits for it', async () => {
  const { snapshot } = make();
  const asked = snapshot.modelList();
  await snapshot.refresh();
  expect(await asked).toEqual({ revision: 1, models: [] });
});

test('the last replies survive an outage of the database, and the next revision follows it', async () => {
  const { store, snapshot, metrics } = make();
  await snapshot.refresh();
  store.down = true;
  store.revision = 2;
  expect(await snapshot.refresh()).toBe(false);
  expect((await metrics.refreshFailures.get()).values[0]?.value).toBe(1);
  expect(await snapshot.modelList()).toEqual({ revision: 1, models: [] });
  expect(await snapshot.routeList()).toEqual({ revision: 1, upstreams: [], models: [] });
  store.down = false;
  expect(await snapshot.refresh()).toBe(true);
  expect(await snapshot.modelList()).toEqual({ revision: 2, models: [] });
});

test('an unchanged revision is not read again', async () => {
  const { store, snapshot } = make();
  await snapshot.refresh();
  await snapshot.refresh();
  expect(store.reads).toBe(1);
});

test('a price that is scheduled is read without a new revision', async () => {
  const { store, snapshot } = make();
  await snapshot.refresh();
  const price = { inputPicoUsd: 1n, cachedInputPicoUsd: 1n, outputPicoUsd: 1n };
  store.scheduledPrices = [{ id: 'p', modelId: 'gone', price, effectiveAt: new Date(0) }];
  await snapshot.refresh();
  await snapshot.refresh();
  expect(store.reads).toBe(2);
  expect(await snapshot.modelList()).toEqual({ revision: 1, models: [], scheduledPrices: [] });
});

test('a refresh during a read sees what was committed meanwhile', async () => {
  const { store, snapshot } = make();
  const gate = Promise.withResolvers<void>();
  store.gate = gate.promise;
  const first = snapshot.refresh();
  while (store.reads === 0) await new Promise(setImmediate);
  store.revision = 2;
  const second = snapshot.refresh();
  gate.resolve();
  await Promise.all([first, second]);
  expect((await snapshot.modelList()).revision).toBe(2);
  expect(store.reads).toBe(2);
});

describe('a caller that knows a newer revision', () => {
  test('gets it, and nothing older during the read', async () => {
    const { store, snapshot } = make();
    await snapshot.refresh();
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    store.revision = 2;
    void snapshot.refresh();
    const asked = [snapshot.modelList(2), snapshot.modelList(2)];
    gate.resolve();
    expect((await Promise.all(asked)).map(({ revision }) => revision)).toEqual([2, 2]);
  });

  test('triggers a read without an event', async () => {
    const { store, snapshot } = make();
    await snapshot.refresh();
    store.revision = 2;
    expect(await snapshot.routeList(2)).toEqual({ revision: 2, upstreams: [], models: [] });
  });

  test('is refused without the database, late', async () => {
    const { store, snapshot } = make();
    await snapshot.refresh();
    store.down = true;
    const refused = snapshot.modelList(2);
    const other = new Promise((resolve) => setTimeout(resolve, 100, 'an answer of another replica'));
    expect(await Promise.race([refused, other])).toBe('an answer of another replica');
    await expect(refused).rejects.toEqual(unavailable);
  });

  test('gets wentBack when the database was restored to an older state', async () => {
    const { store, snapshot } = make();
    store.revision = 8;
    await snapshot.refresh();
    store.revision = 5;
    await snapshot.refresh();
    expect(await snapshot.modelList(8)).toEqual({ revision: 5, models: [], wentBack: true });
    expect(await snapshot.modelList(5)).toEqual({ revision: 5, models: [] });
  });
});

test('without the database no revision older than the last event is returned', async () => {
  const { store, snapshot, announcements } = make();
  await snapshot.refresh();
  store.down = true;
  announcements.heard(2);
  await expect(snapshot.modelList()).rejects.toEqual(unavailable);
});

test('a replica that finds an unpublished revision publishes it, once', async () => {
  const { store, snapshot, announcements, published } = make();
  announcements.heard(1);
  await snapshot.refresh();
  expect(published).toEqual([]);
  store.revision = 2;
  await snapshot.refresh();
  await snapshot.refresh();
  expect(published).toEqual([2]);
  announcements.forget();
  await snapshot.refresh();
  expect(published).toEqual([2, 2]);
});

test('a revision that is outdated when it has been read is not published', async () => {
  const { store, snapshot, announcements, published } = make();
  const gate = Promise.withResolvers<void>();
  store.gate = gate.promise;
  const first = snapshot.refresh();
  while (store.reads === 0) await new Promise(setImmediate);
  store.revision = 2;
  announcements.heard(2);
  const second = snapshot.refresh();
  gate.resolve();
  await Promise.all([first, second]);
  expect(published).toEqual([]);
});
