import { isDeepStrictEqual } from 'node:util';
import type { Route } from '#contracts/catalog.js';
import type { WantedCatalog, WantedModel } from '../file/parse-catalog-file.js';
import type { CatalogEntries, StoredModel, StoredPricePlan, StoredRoute, StoredService, StoredUpstream } from './catalog-state.js';
import { priceVersion, type VersionedPrice } from './price-version.js';

type ModelRow = Omit<StoredModel, 'price' | 'routes'>;
type PriceRow = VersionedPrice & { modelId: string };
export type RouteRow = StoredRoute & { modelId: string };

/** Rows to write: new and changed ones. Prices are only added. */
export interface Changes {
  upstreams: StoredUpstream[];
  models: ModelRow[];
  prices: PriceRow[];
  routes: RouteRow[];
  pricePlans: StoredPricePlan[];
  services: StoredService[];
}

/**
 * Returns the changes that make the stored catalog equal to a file. Entries that the file no longer names are disabled. Entries that it
 * names again are enabled, and their price history goes on. `now` (Unix seconds) is the default of `created`.
 */
export function planChanges(current: CatalogEntries, wanted: WantedCatalog, now: number): Changes {
  const upstreams = wanted.upstreams.map((upstream, position) => ({ ...upstream, position }));
  const changes: Changes = {
    upstreams: changedRows(current.upstreams, upstreams, ({ id }) => id),
    models: [],
    prices: [],
    routes: [],
    pricePlans: changedRows(
      current.pricePlans,
      wanted.pricePlans.map((plan, position) => ({ ...plan, position })),
      ({ id }) => id,
    ),
    services: changedRows(
      current.services,
      wanted.services.map((service, position) => ({ ...service, position })),
      ({ id }) => id,
    ),
  };
  const stored = new Map(current.models.map((model) => [model.id, model]));
  const models = wanted.models.map((model, position) => modelRow(model, position, stored.get(model.id)?.created ?? now));
  changes.models = changedRows(current.models.map(withoutPriceAndRoutes), models, ({ id }) => id);
  for (const model of wanted.models) {
    const before = stored.get(model.id);
    const price = priceVersion(before?.price, model.price);
    if (price.version !== before?.price.version) changes.prices.push({ modelId: model.id, ...price });
    const routes = model.routes.map((route, position) => ({ ...route, enabled: true, position }));
    changes.routes.push(...changedRows(before?.routes ?? [], routes, target).map((route) => ({ modelId: model.id, ...route })));
  }
  return changes;
}

export function isEmpty(changes: Changes): boolean {
  return Object.values<readonly unknown[]>({ ...changes }).every((rows) => rows.length === 0);
}

/** Returns rows that are new or different, and the others as disabled. */
function changedRows<Row extends { enabled: boolean }>(before: readonly Row[], after: readonly Row[], key: (row: Row) => string): Row[] {
  const stored = new Map(before.map((row) => [key(row), row]));
  const named = new Set(after.map(key));
  const written = after.filter((row) => !isDeepStrictEqual(row, stored.get(key(row))));
  const dropped = before.filter((row) => row.enabled && !named.has(key(row)));
  return [...written, ...dropped.map((row) => ({ ...row, enabled: false }))];
}

function modelRow({ price, routes, ...model }: WantedModel, position: number, created: number): ModelRow {
  return { ...model, created: model.created ?? created, position };
}

function withoutPriceAndRoutes({ price, routes, ...model }: StoredModel): ModelRow {
  return model;
}

function target({ upstream, model }: Route): string {
  return JSON.stringify([upstream, model]);
}
