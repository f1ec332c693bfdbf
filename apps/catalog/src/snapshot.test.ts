import { Registry } from 'prom-client';
import { createLogger } from '#observability/logger.js';
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
  return { store, metrics, snapshot: new Snapshot(store, createLogger('catalog', 'silent'), metrics) };
}

test('before the first read there is no answer, and callers are told so', () => {
  const { snapshot } = make();
  expect(snapshot.exists).toBe(false);
  expect(() => snapshot.modelList).toThrow(expect.objectContaining({ name: 'ServiceError', code: 'unavailable' }));
});

test('the last answers survive the loss of the database, and the next revision is taken after it', async () => {
  const { store, snapshot, metrics } = make();
  await snapshot.refresh();
  store.down = true;
  store.revision = 2;
  await snapshot.refresh();
  expect(snapshot.modelList).toEqual({ revision: 1, models: [] });
  expect(snapshot.routeList).toEqual({ revision: 1, upstreams: [], models: [] });
  expect((await metrics.refreshFailures.get()).values[0]?.value).toBe(1);
  store.down = false;
  await snapshot.refresh();
  expect(snapshot.modelList).toEqual({ revision: 2, models: [] });
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
  while (store.reads === 0) await Promise.resolve();
  store.revision = 2;
  const second = snapshot.refresh();
  gate.resolve();
  await Promise.all([first, second]);
  expect(snapshot.revision).toBe(2);
  expect(store.reads).toBe(2);
});
