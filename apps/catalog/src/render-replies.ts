import type { ModelListReply, RouteListReply } from '#contracts/catalog.js';
import type { CatalogState } from './apply/catalog-state.js';
import { renderPrice } from './apply/price-version.js';

/** Returns the enabled models with capabilities and prices, and the price plans. */
export function renderModelList({ revision, models, upstreams, pricePlans }: CatalogState): ModelListReply {
  const echoing = new Set(upstreams.filter(({ enabled, capabilities }) => enabled && capabilities.reasoningEcho).map(({ id }) => id));
  const plans = pricePlans.filter(({ enabled }) => enabled).map(({ enabled, position, ...plan }) => plan);
  return {
    revision,
    models: models
      .filter(({ enabled }) => enabled)
      .map(({ enabled, position, routes, price, ...model }) => ({
        ...model,
        reasoningEcho: routes.some(({ enabled, upstream }) => enabled && echoing.has(upstream)),
        price: renderPrice(price),
      })),
    ...(plans.length > 0 && { pricePlans: plans }),
  };
}

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
