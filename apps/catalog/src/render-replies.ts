import type { ModelListReply, OfferedService, Route, RouteListReply } from '#contracts/catalog.js';
import type { CatalogState, StoredModel, StoredService, WaitingPrice } from './apply/catalog-state.js';
import { priceVersion, renderPrice } from './apply/price-version.js';

/** Returns the enabled models with capabilities and prices, the price plans, and the prices that are scheduled. */
export function renderModelList({ revision, models, upstreams, pricePlans, services, scheduledPrices }: CatalogState): ModelListReply {
  const capabilitiesById = new Map(upstreams.filter(({ enabled }) => enabled).map(({ id, capabilities }) => [id, capabilities]));
  const isEchoing = ({ upstream, capabilities }: Route): boolean =>
    capabilities?.reasoningEcho ?? capabilitiesById.get(upstream)?.reasoningEcho ?? false;
  const plans = pricePlans.filter(({ enabled }) => enabled).map(({ enabled, position, ...plan }) => plan);
  return {
    revision,
    models: models.filter(isModel).map(({ enabled, position, routes, price, unit, ...model }) => ({
      ...model,
      reasoningEcho: routes.some((route) => route.enabled && capabilitiesById.has(route.upstream) && isEchoing(route)),
      price: renderPrice(price),
    })),
    ...(plans.length > 0 && { pricePlans: plans }),
    ...(services.some(({ enabled }) => enabled) && { services: renderServices(services, models) }),
    ...(scheduledPrices.length > 0 && { scheduledPrices: renderScheduled(models, scheduledPrices) }),
  };
}

function isModel({ enabled, unit }: StoredModel): boolean {
  return enabled && unit === null;
}

function renderServices(services: readonly StoredService[], models: readonly StoredModel[]): OfferedService[] {
  const items = models.filter(({ enabled, unit }) => enabled && unit !== null);
  return services
    .filter(({ enabled }) => enabled)
    .map(({ enabled, position, ...service }) => ({
      ...service,
      items: items
        .filter(({ ownedBy }) => ownedBy === service.id)
        .map(({ id, displayName = null, unit, price }) => ({ id, displayName, unit: unit ?? id, price: renderPrice(price) })),
    }));
}

/** Counts the versions on from the present ones. */
function renderScheduled(models: readonly StoredModel[], waiting: readonly WaitingPrice[]): ModelListReply['scheduledPrices'] {
  const last = new Map(models.filter(({ enabled }) => enabled).map(({ id, price }) => [id, price]));
  return waiting.flatMap(({ modelId, price, effectiveAt }) => {
    const before = last.get(modelId);
    if (!before) return [];
    const next = priceVersion(before, price);
    last.set(modelId, next);
    return [{ model: modelId, price: renderPrice(next), effectiveAt: effectiveAt.toISOString() }];
  });
}

/** Returns the enabled upstreams, and for each enabled model its enabled routes to them. */
export function renderRouteList({ revision, upstreams, models }: CatalogState): RouteListReply {
  const inUse = new Set(upstreams.filter(({ enabled }) => enabled).map(({ id }) => id));
  return {
    revision,
    upstreams: upstreams.filter(({ id }) => inUse.has(id)).map(({ enabled, position, ...upstream }) => upstream),
    models: models.filter(isModel).map(({ id, embeddingDimensions, routes }) => ({
      id,
      ...(embeddingDimensions != null && { embeds: true as const }),
      routes: routes.filter(({ enabled, upstream }) => enabled && inUse.has(upstream)).map(({ enabled, position, ...route }) => route),
    })),
  };
}
