import type { PriceText } from './price-plan.js';

/** Renders the amount of a price in dollars: of a million tokens, or of a request or image. */
export interface DollarForm {
  perMillion(picoUsd: bigint): string;
  each(picoUsd: bigint): string;
}

/**
 * Describes the parts of a price that only some models have: `$3.75 cache write`, `$0.01 a request`, `above 200000 prompt tokens: $6 prompt, $0.6
 * cached prompt, $22.5 output`.
 */
export function describeOtherPrices(price: Partial<PriceText>, form: DollarForm): string[] {
  const each = (picoUsd: string | undefined, of: string): string[] =>
    picoUsd === undefined ? [] : [`${form.each(BigInt(picoUsd))} ${of}`];
  return [
    ...writePrices(price, form),
    ...each(price.requestPicoUsd, 'a request'),
    ...each(price.imagePicoUsd, 'an image'),
    ...(price.imageSteps ?? []).flatMap(({ aboveBytes, imagePicoUsd }) => each(imagePicoUsd, `an image above ${aboveBytes} bytes`)),
    ...steps(price, form),
    ...(price.tiers ?? []).flatMap(({ tier, ...prices }) => [
      `tier ${tier}: ${tokenPrices(prices, form)}`,
      ...steps(prices, form).map((step) => `tier ${tier} ${step}`),
    ]),
  ];
}

type Prices = Partial<
  Pick<PriceText, 'inputPicoUsd' | 'cachedInputPicoUsd' | 'cacheWritePicoUsd' | 'cacheWrite1hPicoUsd' | 'outputPicoUsd'>
>;

function steps({ steps = [] }: Pick<PriceText, 'steps'>, form: DollarForm): string[] {
  return steps.map((step) => {
    const tokens = step.reprices === 'excess' ? ', for the tokens after them' : '';
    return `above ${step.above} prompt tokens${tokens}: ${tokenPrices(step, form)}`;
  });
}

function tokenPrices({ inputPicoUsd, cachedInputPicoUsd, outputPicoUsd, ...writes }: Prices, form: DollarForm): string {
  const perMillion = (picoUsd: string | undefined, of: string): string[] =>
    picoUsd === undefined ? [] : [`${form.perMillion(BigInt(picoUsd))} ${of}`];
  const main = [
    ...perMillion(inputPicoUsd, 'prompt'),
    ...perMillion(cachedInputPicoUsd, 'cached prompt'),
    ...perMillion(outputPicoUsd, 'output'),
  ];
  return [...main, ...writePrices(writes, form)].join(', ');
}

function writePrices({ cacheWritePicoUsd, cacheWrite1hPicoUsd }: Prices, { perMillion }: DollarForm): string[] {
  return [
    ...(cacheWritePicoUsd === undefined ? [] : [`${perMillion(BigInt(cacheWritePicoUsd))} cache write`]),
    ...(cacheWrite1hPicoUsd === undefined ? [] : [`${perMillion(BigInt(cacheWrite1hPicoUsd))} cache write for 1 h`]),
  ];
}
