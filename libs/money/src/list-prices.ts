import { parseUsd, renderUsd } from './pico-usd.js';
import { type Price, parseUsdPerMillionTokens } from './price.js';

/** Prices in USD as operators write them: per million tokens, per request and per image. */
export interface ListPrices {
  inputUsdPerMTok: string;
  cachedInputUsdPerMTok: string;
  cacheWriteUsdPerMTok?: string;
  cacheWrite1hUsdPerMTok?: string;
  outputUsdPerMTok: string;
  requestUsd?: string;
  imageUsd?: string;
}

/** Exact; throws `RangeError`. A price of zero for a request or an image is none; one for writing to a cache is zero. */
export function parseListPrices(list: ListPrices): Price {
  const { cacheWriteUsdPerMTok: write, cacheWrite1hUsdPerMTok: write1h } = list;
  const [request, image] = [list.requestUsd, list.imageUsd].map((usd) => parseUsd(usd ?? '0'));
  return {
    inputPicoUsd: parseUsdPerMillionTokens(list.inputUsdPerMTok),
    cachedInputPicoUsd: parseUsdPerMillionTokens(list.cachedInputUsdPerMTok),
    ...(write !== undefined && { cacheWritePicoUsd: parseUsdPerMillionTokens(write) }),
    ...(write1h !== undefined && { cacheWrite1hPicoUsd: parseUsdPerMillionTokens(write1h) }),
    outputPicoUsd: parseUsdPerMillionTokens(list.outputUsdPerMTok),
    ...(request && { requestPicoUsd: request }),
    ...(image && { imagePicoUsd: image }),
  };
}

export function renderListPrices(price: Price): ListPrices {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd, outputPicoUsd, requestPicoUsd, imagePicoUsd } = price;
  const perMillion = (price: bigint): string => renderUsd(price * 1_000_000n);
  return {
    inputUsdPerMTok: perMillion(inputPicoUsd),
    cachedInputUsdPerMTok: perMillion(cachedInputPicoUsd),
    ...(cacheWritePicoUsd !== undefined && { cacheWriteUsdPerMTok: perMillion(cacheWritePicoUsd) }),
    ...(cacheWrite1hPicoUsd !== undefined && { cacheWrite1hUsdPerMTok: perMillion(cacheWrite1hPicoUsd) }),
    outputUsdPerMTok: perMillion(outputPicoUsd),
    ...(requestPicoUsd !== undefined && { requestUsd: renderUsd(requestPicoUsd) }),
    ...(imagePicoUsd !== undefined && { imageUsd: renderUsd(imagePicoUsd) }),
  };
}
