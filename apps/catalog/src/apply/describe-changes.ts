import { isDeepStrictEqual } from 'node:util';
import type { CatalogChanges, EntryChanges } from '#contracts/catalog.js';
import type { CatalogDifferences, EntryDifferences, FieldDifference } from '#contracts/catalog-revisions.js';
import type { CatalogEntries, StoredModel, StoredRoute } from './catalog-state.js';
import type { Changes, RouteRow } from './plan-changes.js';
import { renderPrice } from './price-version.js';

/** Describes what `changes` do to `current`, for the reply, the log and the audit journal: the changed fields without their values. */
export function describeChanges(current: CatalogEntries, changes: Changes): CatalogChanges {
  const { models, upstreams, repriced, pricePlans, services } = describeDifferences(current, changes);
  const plans = pricePlans && { pricePlans: withoutValues(pricePlans) };
  const ofServices = services && { services: withoutValues(services) };
  return { models: withoutValues(models), upstreams: withoutValues(upstreams), repriced, ...plans, ...ofServices };
}

/** Describes what `changes` do to `current`, field by field with the values. */
export function describeDifferences(current: CatalogEntries, changes: Changes): CatalogDifferences {
  const models = new Map(current.models.map((model) => [model.id, model]));
  const written = new Map(changes.models.map((row) => [row.id, row]));
  const routes = Map.groupBy(changes.routes, ({ modelId }) => modelId);
  const firstPrices = changes.prices.filter(({ modelId }) => !models.has(modelId));
  const touched = new Set([...written.keys(), ...routes.keys()]);
  return {
    models: sorted(
      [...touched].map((id) => {
        const before = models.get(id);
        const after = written.get(id) ?? before;
        const fields = before && after ? differing(after, before) : [];
        if (before) fields.push(...differingRoutes(before, routes.get(id) ?? []));
        return { id, wasEnabled: before?.enabled, isEnabled: after?.enabled === true, fields };
      }),
    ),
    upstreams: differingRows(current.upstreams, changes.upstreams),
    repriced: changes.prices.flatMap(({ modelId, ...after }) => {
      const before = models.get(modelId)?.price;
      return before ? [{ model: modelId, before: renderPrice(before), after: renderPrice(after) }] : [];
    }),
    ...(firstPrices.length > 0 && {
      firstPrices: firstPrices.map(({ modelId: model, ...price }) => ({ model, price: renderPrice(price) })),
    }),
    ...(changes.pricePlans.length > 0 && { pricePlans: differingRows(current.pricePlans, changes.pricePlans) }),
    ...(changes.services.length > 0 && { services: differingRows(current.services, changes.services) }),
  };
}

function differingRows<Row extends { id: string; enabled: boolean }>(stored: readonly Row[], written: readonly Row[]): EntryDifferences {
  const rows = new Map(stored.map((row) => [row.id, row]));
  return sorted(
    written.map((after) => {
      const before = rows.get(after.id);
      return { id: after.id, wasEnabled: before?.enabled, isEnabled: after.enabled, fields: before ? differing(after, before) : [] };
    }),
  );
}

interface Entry {
  id: string;
  /** Undefined for a new entry. */
  wasEnabled: boolean | undefined;
  isEnabled: boolean;
  fields: FieldDifference[];
}

function sorted(entries: readonly Entry[]): EntryDifferences {
  const ids = (those: readonly Entry[]): string[] => those.map(({ id }) => id);
  return {
    added: ids(entries.filter(({ wasEnabled, isEnabled }) => wasEnabled === undefined || (!wasEnabled && isEnabled))),
    changed: entries
      .filter(({ wasEnabled, isEnabled, fields }) => wasEnabled === isEnabled && fields.length > 0)
      .map(({ id, fields }) => ({ id, fields })),
    disabled: ids(entries.filter(({ wasEnabled, isEnabled }) => wasEnabled === true && !isEnabled)),
  };
}

function withoutValues({ added, changed, disabled }: EntryDifferences): EntryChanges {
  return { added, changed: changed.map(({ id, fields }) => ({ id, fields: fields.map(({ field }) => field) })), disabled };
}

/** Returns the fields that differ, except the position. */
function differing<Row extends object>(after: Row, before: Row): FieldDifference[] {
  return (Object.keys(after) as (keyof Row & string)[])
    .filter((field) => field !== 'position' && !isDeepStrictEqual(after[field], before[field]))
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }));
}

/** Returns the enabled routes before and after when one of them differs by more than its place. */
function differingRoutes({ routes }: StoredModel, rows: readonly RouteRow[]): FieldDifference[] {
  const written = rows.map(({ modelId: _, ...route }) => route);
  const differs = written.some((route) => {
    const before = routes.find((other) => isSameTarget(route, other));
    return before === undefined || differing(route, before).length > 0;
  });
  if (!differs) return [];
  const after = [...written, ...routes.filter((route) => !written.some((row) => isSameTarget(row, route)))];
  return [{ field: 'routes', before: enabledIn(routes), after: enabledIn(after) }];
}

function isSameTarget(one: StoredRoute, other: StoredRoute): boolean {
  return one.upstream === other.upstream && one.model === other.model;
}

/** Returns the enabled routes as the file has them. */
function enabledIn(routes: readonly StoredRoute[]): unknown[] {
  return routes
    .filter(({ enabled }) => enabled)
    .sort((one, other) => one.position - other.position)
    .map(({ enabled: _, position: __, ...route }) => route);
}
