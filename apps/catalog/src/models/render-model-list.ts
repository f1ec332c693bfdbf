import type { ModelListReply } from '#contracts/catalog.js';
import type { CatalogState } from '../apply/catalog-state.js';

/** Returns the enabled models with capabilities and prices. */
export function renderModelList({ revision, models, upstreams }: CatalogState): ModelListReply {
  const echoing = new Set(upstreams.filter(({ enabled, capabilities }) => enabled && capabilities.reasoningEcho).map(({ id }) => id));
  return {
    revision,
    models: models
      .filter(({ enabled }) => enabled)
      .map(({ enabled, position, routes, price, ...model }) => ({
        ...model,
        reasoningEcho: routes.some(({ enabled, upstream }) => enabled && echoing.has(upstream)),
        price: {
          version: price.version,
          inputPicoUsd: price.inputPicoUsd.toString(),
          cachedInputPicoUsd: price.cachedInputPicoUsd.toString(),
          outputPicoUsd: price.outputPicoUsd.toString(),
        },
      })),
  };
}
