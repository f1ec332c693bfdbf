import { parsePrice } from '#money/price-plan.js';
import { renderModel, renderModelFacts } from '../http/endpoints/render-models.js';

const PRICE = { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
const MODEL = {
  ...{ id: 'sim-fast', created: 1_760_000_000, ownedBy: 'tollgate' },
  ...{ contextTokens: 131_072, maxOutputTokens: 8_192, defaultOutputTokens: 4_096, tokensPerImageMax: 1_600 },
  ...{ input: ['text' as const], reasoning: false, reasoningEcho: false, price: parsePrice(PRICE), pinnedPrice: PRICE },
};

/** A model as it is in the list. */
export const LISTED_MODEL = renderModel(MODEL);
/** The same by itself, with a lower price that is to come. */
export const MODEL_EXAMPLE = {
  ...LISTED_MODEL,
  ...renderModelFacts(MODEL, [{ effectiveAt: '2026-12-01T00:00:00.000Z', price: { ...PRICE, version: 2, outputPicoUsd: '500000' } }]),
};
