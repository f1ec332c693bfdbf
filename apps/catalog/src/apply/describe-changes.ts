import { isDeepStrictEqual } from 'node:util';
import type { CatalogChanges, EntryChanges } from '#contracts/catalog.js';
import type { CatalogState, StoredModel } from './catalog-state.js';
import type { Changes, RouteRow } from './plan-changes.js';
import { renderPrice } from './price-version.js';

/** Describes what `changes` do to `current`, for the reply and the log. */
export function describeChanges(current: Pick<CatalogState, 'upstreams' | 'models'>, changes: Changes): CatalogChanges {
  const models = new Map(current.models.map((model) => [model.id, model]));
  const upstreams = new Map(current.upstreams.map((upstream) => [upstream.id, upstream]));
  const written = new Map(changes.models.map((row) => [row.id, row]));
  const routes = Map.groupBy(changes.routes, ({ modelId }) => modelId);
  const touched = new Set([...written.keys(), ...routes.keys()]);
  return {
    models: sorted(
      [...touched].map((id) => {
        const before = models.get(id);
        const after = written.get(id) ?? before;
        const fields = before && after ? differing(after, before) : [];
        if (before && routesDiffer(before, routes.get(id) ?? [])) fields.push('routes');
        return { id, wasEnabled: before?.enabled, isEnabled: after?.enabled === true, fields };
      }),
    ),
    upstreams: sorted(
      changes.upstreams.map((after) => {
        const before = upstreams.get(after.id);
        return { id: after.id, wasEnabled: before?.enabled, isEnabled: after.enabled, fields: before ? differing(after, before) : [] };
      }),
    ),
    repriced: changes.prices.flatMap(({ modelId, ...after }) => {
      const before = models.get(modelId)?.price;
      return before ? [{ model: modelId, before: renderPrice(before), after: renderPrice(after) }] : [];
    }),
  };
}

interface Entry {
  id: string;
  /** Undefined for a new entry. */
  wasEnabled: boolean | undefined;
  isEnabled: boolean;
  fields: string[];
}

function sorted(entries: readonly Entry[]): EntryChanges {
  const ids = (those: readonly Entry[]): string[] => those.map(({ id }) => id);
  return {
    added: ids(entries.filter(({ wasEnabled, isEnabled }) => wasEnabled === undefined || (!wasEnabled && isEnabled))),
    changed: entries
      .filter(({ wasEnabled, isEnabled, fields }) => wasEnabled === isEnabled && fields.length > 0)
      .map(({ id, fields }) => ({ id, fields })),
    disabled: ids(entries.filter(({ wasEnabled, isEnabled }) => wasEnabled === true && !isEnabled)),
  };
}

/** Returns the fields that differ, except the position. */
function differing<Row extends object>(after: Row, before: Row): string[] {
  return (Object.keys(after) as (keyof Row & string)[]).filter(
    (field) => field !== 'position' && !isDeepStrictEqual(after[field], before[field]),
  );
}

function routesDiffer({ routes }: StoredModel, rows: readonly RouteRow[]): boolean {
  return rows.some(({ modelId: _, ...row }) => {
    const before = routes.find(({ upstream, model }) => upstream === row.upstream && model === row.model);
    return before === undefined || differing(row, before).length > 0;
  });
}
