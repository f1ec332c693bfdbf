import type { RouteListReply } from '#contracts/catalog.js';
import type { CatalogState } from '../apply/catalog-state.js';

/** What the inference-proxy needs: enabled upstreams, and the enabled routes of enabled models. */
export function renderRouteList({ revision, upstreams, models }: CatalogState): RouteListReply {
  return {
    revision,
    upstreams: upstreams.filter(({ enabled }) => enabled).map(({ enabled, position, ...upstream }) => upstream),
    models: models
      .filter(({ enabled }) => enabled)
      .map(({ id, routes }) => ({
        id,
        routes: routes.filter(({ enabled }) => enabled).map(({ enabled, position, ...route }) => route),
      })),
  };
}
