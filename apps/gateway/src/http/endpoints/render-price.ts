import type { PinnedPrice } from '#contracts/billing/holds.js';
import { type PriceStep, type PromptPrices, withWrites } from '#money/price.js';

/** The price of a request, for the owner of its key. */
export function renderPrice(price: PinnedPrice) {
  return {
    ...renderModelPrice(price),
    images: price.images ?? 0,
    image_steps: (price.imageSteps ?? []).map(renderImageStep),
  };
}

/** The price of a model for its caller, before it is known how many images a request has. */
export function renderModelPrice(price: PinnedPrice) {
  return {
    version: price.version,
    price_plan: price.pricePlan ?? null,
    ...renderPromptPrices(price),
    output_pico_usd: price.outputPicoUsd,
    request_pico_usd: price.requestPicoUsd ?? '0',
    image_pico_usd: price.imagePicoUsd ?? '0',
    steps: (price.steps ?? []).map(renderStep),
    tiers: (price.tiers ?? []).map(renderTier),
    image_steps: (price.imageSteps ?? []).map(renderImagePrice),
  };
}

export function renderPromptPrices(price: PromptPrices<string>) {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd } = withWrites(price);
  return {
    input_pico_usd: inputPicoUsd,
    cached_input_pico_usd: cachedInputPicoUsd,
    cache_write_pico_usd: cacheWritePicoUsd,
    cache_write_1h_pico_usd: cacheWrite1hPicoUsd,
  };
}

export function renderStep(step: PriceStep<string>) {
  return { above: step.above, reprices: step.reprices, ...renderPromptPrices(step), output_pico_usd: step.outputPicoUsd ?? null };
}

export function renderTier(tier: NonNullable<PinnedPrice['tiers']>[number]) {
  return { tier: tier.tier, ...renderPromptPrices(tier), output_pico_usd: tier.outputPicoUsd, steps: (tier.steps ?? []).map(renderStep) };
}

type ImageStep = NonNullable<PinnedPrice['imageSteps']>[number];

export function renderImageStep(step: ImageStep) {
  return { ...renderImagePrice(step), images: step.images ?? 0 };
}

export function renderImagePrice({ aboveBytes, imagePicoUsd }: ImageStep) {
  return { above_bytes: aboveBytes, image_pico_usd: imagePicoUsd };
}
