import type { Price, PromptPrices, TokenPrices } from './price.js';

/** Changes the amounts of a price: those of a token, and those of a request or an image. */
export interface AmountChange<From, To> {
  perToken(amount: From): To;
  each(amount: From): To;
}

/** Returns a price with all of its amounts changed, and the rest as it is. */
export function mapPrice<From, To>(price: Price<From>, change: AmountChange<From, To>): Price<To> {
  const { tiers, requestPicoUsd, imagePicoUsd, imageSteps, images } = price;
  return {
    ...mapTokens(price, change),
    ...(tiers && { tiers: tiers.map((prices) => ({ tier: prices.tier, ...mapTokens(prices, change) })) }),
    ...(requestPicoUsd !== undefined && { requestPicoUsd: change.each(requestPicoUsd) }),
    ...(imagePicoUsd !== undefined && { imagePicoUsd: change.each(imagePicoUsd) }),
    ...(imageSteps && { imageSteps: imageSteps.map((step) => ({ ...step, imagePicoUsd: change.each(step.imagePicoUsd) })) }),
    ...(images !== undefined && { images }),
  };
}

function mapTokens<From, To>(prices: TokenPrices<From>, change: AmountChange<From, To>): TokenPrices<To> {
  return {
    ...mapPrompt(prices, change),
    outputPicoUsd: change.perToken(prices.outputPicoUsd),
    ...(prices.steps && {
      steps: prices.steps.map((step) => ({
        above: step.above,
        reprices: step.reprices,
        ...mapPrompt(step, change),
        ...(step.outputPicoUsd !== undefined && { outputPicoUsd: change.perToken(step.outputPicoUsd) }),
      })),
    }),
  };
}

function mapPrompt<From, To>(prices: PromptPrices<From>, { perToken }: AmountChange<From, To>): PromptPrices<To> {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd } = prices;
  return {
    inputPicoUsd: perToken(inputPicoUsd),
    cachedInputPicoUsd: perToken(cachedInputPicoUsd),
    ...(cacheWritePicoUsd !== undefined && { cacheWritePicoUsd: perToken(cacheWritePicoUsd) }),
    ...(cacheWrite1hPicoUsd !== undefined && { cacheWrite1hPicoUsd: perToken(cacheWrite1hPicoUsd) }),
  };
}

/** Returns the price without a price of zero for a request or an image, which is none. */
export function withoutFreeUnits({ requestPicoUsd, imagePicoUsd, ...price }: Price): Price {
  return { ...price, ...(requestPicoUsd && { requestPicoUsd }), ...(imagePicoUsd && { imagePicoUsd }) };
}
