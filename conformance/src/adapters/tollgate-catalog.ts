import { type Model, routeUrl } from '../models.ts';
import { type PriceList, perMillionTokens } from '../money/terms.ts';

interface Entry {
  id: string;
}

const KINDS = { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic-messages' };

/** The entries of a catalog file with which Tollgate offers the models of the kit. */
export function makeCatalog(
  upstreamOrigin: string,
  prices: ReadonlyMap<Model, PriceList>,
): { upstreams: readonly Entry[]; models: readonly Entry[] } {
  const routes = [...prices.keys()].flatMap((model) =>
    Array.from({ length: model.routes }, (_, route) => ({ model, route, id: `${model.id}-${route}` })),
  );
  const upstreams = routes.map(({ model, route, id }) => ({
    id,
    kind: KINDS[model.format],
    baseUrl: routeUrl(upstreamOrigin, model, route),
    allowPrivateNetwork: true,
    // The scripted upstream shows all that it bills, except where a row is about that.
    capabilities: { hiddenReasoning: model.hidesOutput },
  }));
  const models = [...prices].map(([model, { inputPicoUsd, cachedInputPicoUsd, outputPicoUsd }]) => ({
    id: model.id,
    ownedBy: 'kit',
    contextTokens: 1_000_000,
    maxOutputTokens: 100_000,
    defaultOutputTokens: 4_096,
    price: {
      inputUsdPerMTok: perMillionTokens(inputPicoUsd),
      cachedInputUsdPerMTok: perMillionTokens(cachedInputPicoUsd),
      outputUsdPerMTok: perMillionTokens(outputPicoUsd),
    },
    routes: routes.filter((route) => route.model === model).map(({ id, route }) => ({ upstream: id, model: 'scripted', priority: route })),
  }));
  return { upstreams, models };
}
