import type { RouteListReply } from '#contracts/catalog.js';
import type { CatalogState } from '../apply/catalog-state.js';

/** Returns the enabled upstreams, and for each enabled model its enabled routes to them. */
export function renderRouteList({ revision, upstreams, models }: CatalogState): RouteListReply {
  const inUse = new Set(upstreams.filter(({ enabled }) => enabled).map(({ id }) => id));
  return {
    revision,
    upstreams: upstreams.filter(({ id }) => inUse.has(id)).map(({ enabled, position, ...upstream }) => upstream),
    models: models
      .filter(({ enabled }) => enabled)
      .map(({ id, routes }) => ({
        id,
        routes: routes.filter(({ enabled, upstream }) => enabled && inUse.has(upstream)).map(({ enabled, position, ...route }) => route),
      })),
  };
}
