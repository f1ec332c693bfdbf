import { Registry } from 'prom-client';
import { catalogChanged } from '#contracts/catalog.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { Announcements } from './announcements.js';
import type { CatalogState } from './apply/catalog-state.js';
import { createCatalogMetrics } from './catalog.metrics.js';
import { Snapshot } from './snapshot.js';

/** A store whose every answer is given by the test. */
class FakeStore {
  revision = 1;
  down = false;
  reads = 0;
  gate: Promise<void> = Promise.resolve();

  async readRevision(): Promise<number> {
    if (this.down) throw new Error('connection refused');
    return this.revision;
  }

  async read(): Promise<CatalogState> {
    if (this.down) throw new Error('connection refused');
    this.reads += 1;
    const state = { revision: this.revision, upstreams: [], models: [] };
    await this.gate;
    return state;
  }
}

function make() {
  const store = new FakeStore();
  const metrics = createCatalogMetrics(new Registry());
  const messaging = new FakeMessaging();
  const announcements = new Announcements(messaging);
  const told: number[] = [];
  messaging.subscribe(catalogChanged, ({ revision }) => told.push(revision));
  return { store, metrics, announcements, told, snapshot: new Snapshot(store, announcements, createLogger('catalog', 'silent'), metrics) };
}

const unavailable = expect.objectContaining({ name: 'ServiceError', code: 'unavailable' });

test('before the first read there is no answer, and callers are told so', async () => {
  const { snapshot } = make();
  expect(snapshot.exists).toBe(false);
  await expect(snapshot.modelList()).rejects.toEqual(unavailable);
});

test('who asks before the first read gets what it soon brings', async () => {
  const { snapshot } = make();
  const asked = snapshot.modelList();
  await snapshot.refresh();
  expect(await asked).toEqual({ revision: 1, models: [] });
});

test('the last answers survive the loss of the database, and the next revision is taken after it', async () => {
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

test('a refresh asked for during a read sees what was committed meanwhile', async () => {
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

describe('a caller who knows of a newer revision', () => {
  test('gets it, and nothing older while it is being read', async () => {
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

  test('makes it read what no event told of', async () => {
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

  test('is told when the database was put back to an older state', async () => {
    const { store, snapshot } = make();
    store.revision = 8;
    await snapshot.refresh();
    store.revision = 5;
    await snapshot.refresh();
    expect(await snapshot.modelList(8)).toEqual({ revision: 5, models: [], wentBack: true });
    expect(await snapshot.modelList(5)).toEqual({ revision: 5, models: [] });
  });
});

test('without the database nothing older is given than was announced', async () => {
  const { store, snapshot, announcements } = make();
  await snapshot.refresh();
  store.down = true;
  announcements.heard(2);
  await expect(snapshot.modelList()).rejects.toEqual(unavailable);
});

test('a revision that nobody told of is told of by whoever finds it, once', async () => {
  const { store, snapshot, announcements, told } = make();
  announcements.heard(1);
  await snapshot.refresh();
  expect(told).toEqual([]);
  store.revision = 2;
  await snapshot.refresh();
  await snapshot.refresh();
  expect(told).toEqual([2]);
  announcements.forget();
  await snapshot.refresh();
  expect(told).toEqual([2, 2]);
});

test('a revision that is no longer the newest when it has been read is not told of', async () => {
  const { store, snapshot, announcements, told } = make();
  const gate = Promise.withResolvers<void>();
  store.gate = gate.promise;
  const first = snapshot.refresh();
  while (store.reads === 0) await new Promise(setImmediate);
  store.revision = 2;
  announcements.heard(2);
  const second = snapshot.refresh();
  gate.resolve();
  await Promise.all([first, second]);
  expect(told).toEqual([]);
});
