import { parseUsd, picoUsd, renderUsd } from './pico-usd.js';
import { type Price, parseUsdPerMillionTokens } from './price.js';

/** Prices in USD as operators write them: per million tokens, per request and per image. */
export interface ListPrices {
  inputUsdPerMTok: string;
  cachedInputUsdPerMTok: string;
  outputUsdPerMTok: string;
  requestUsd?: string;
  imageUsd?: string;
}

/** Exact; throws `RangeError`. A price of zero for a request or an image is none. */
export function parseListPrices(list: ListPrices): Price {
  const [request, image] = [list.requestUsd, list.imageUsd].map((usd) => parseUsd(usd ?? '0'));
  return {
    inputPicoUsd: parseUsdPerMillionTokens(list.inputUsdPerMTok),
    cachedInputPicoUsd: parseUsdPerMillionTokens(list.cachedInputUsdPerMTok),
    outputPicoUsd: parseUsdPerMillionTokens(list.outputUsdPerMTok),
    ...(request && { requestPicoUsd: request }),
    ...(image && { imagePicoUsd: image }),
  };
}

export function renderListPrices({ inputPicoUsd, cachedInputPicoUsd, outputPicoUsd, requestPicoUsd, imagePicoUsd }: Price): ListPrices {
  const perMillion = (price: bigint): string => renderUsd(picoUsd(price * 1_000_000n));
  return {
    inputUsdPerMTok: perMillion(inputPicoUsd),
    cachedInputUsdPerMTok: perMillion(cachedInputPicoUsd),
    outputUsdPerMTok: perMillion(outputPicoUsd),
    ...(requestPicoUsd !== undefined && { requestUsd: renderUsd(picoUsd(requestPicoUsd)) }),
    ...(imagePicoUsd !== undefined && { imageUsd: renderUsd(picoUsd(imagePicoUsd)) }),
  };
}
