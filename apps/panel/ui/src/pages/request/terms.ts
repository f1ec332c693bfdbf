import type { BilledRequest, PinnedPrice, RequestBill } from '../../../../src/shapes/billing.js';
import { count, exactUsd } from '../../format/numbers.js';
import { tokenPrices } from '../../parts/token-prices.js';

export interface Term {
  name: string;
  /** Origin of the count, or a part of it. */
  note: string;
  /** Tokens, unless there is a `unit`. */
  count: number;
  unit?: 'request' | 'image';
  pricePicoUsd: bigint;
  amountPicoUsd: bigint;
}

const SOURCES = {
  reported: 'counted by the upstream',
  estimated: 'estimated from the size of the prompt',
  counted: 'counted by Tollgate in the text received',
  floor: 'counted by Tollgate, with a floor for hidden output',
} as const;

/**
 * The terms of a cost: counts times prices, to the pico-dollar. Tokens of a cache are part of the prompt, reasoning tokens of the output. A
 * bill without tokens is of a request that costs nothing.
 */
export function listTerms({ usage }: Pick<RequestBill, 'usage'>, price: PinnedPrice): Term[] {
  const { input, cached, write, write1h, output } = tokenPrices(price);
  const { cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  const fresh = usage.promptTokens - usage.cachedTokens - cacheWriteTokens - cacheWrite1hTokens;
  const reasoning = usage.reasoningTokens > 0 ? `, ${count(usage.reasoningTokens)} of it reasoning` : '';
  return [
    { name: 'Prompt', note: SOURCES[usage.promptSource], count: fresh, pricePicoUsd: input, amountPicoUsd: BigInt(fresh) * input },
    {
      name: 'Cached prompt',
      note: 'read from the upstream’s cache',
      count: usage.cachedTokens,
      pricePicoUsd: cached,
      amountPicoUsd: BigInt(usage.cachedTokens) * cached,
    },
    ...writeTerm('kept for 5 minutes', cacheWriteTokens, write),
    ...writeTerm('kept for an hour', cacheWrite1hTokens, write1h),
    {
      name: 'Output',
      note: SOURCES[usage.outputSource] + reasoning,
      count: usage.outputTokens,
      pricePicoUsd: output,
      amountPicoUsd: BigInt(usage.outputTokens) * output,
    },
    ...(usage.promptTokens + usage.outputTokens > 0 ? unitTerms(price) : []),
  ];
}

function writeTerm(kept: string, tokens: number, pricePicoUsd: bigint): Term[] {
  if (tokens === 0) return [];
  const name = 'Prompt written to cache';
  return [{ name, note: `by the upstream, ${kept}`, count: tokens, pricePicoUsd, amountPicoUsd: BigInt(tokens) * pricePicoUsd }];
}

function unitTerms({ requestPicoUsd, imagePicoUsd, images = 0 }: PinnedPrice): Term[] {
  const term = (unit: 'request' | 'image', name: string, number: number, price: string | undefined): Term[] => {
    if (price === undefined || number === 0) return [];
    const pricePicoUsd = BigInt(price);
    return [{ name, note: 'besides the tokens', count: number, unit, pricePicoUsd, amountPicoUsd: BigInt(number) * pricePicoUsd }];
  };
  return [...term('request', 'Request', 1, requestPicoUsd), ...term('image', 'Images', images, imagePicoUsd)];
}

export function sumTerms(terms: Term[]): bigint {
  return terms.reduce((sum, { amountPicoUsd }) => sum + amountPicoUsd, 0n);
}

const BALANCE_SOURCES = [
  ['planPicoUsd', 'plan'],
  ['topupPicoUsd', 'top-up'],
  ['endedPlanPicoUsd', 'a plan that ended while the request ran'],
] as const;

/** Returns the money that paid a cost, each part with its amount; nothing for a free request. */
export function listBalanceSources({ paid }: Pick<RequestBill, 'paid'>): { name: string; amountPicoUsd: bigint }[] {
  return BALANCE_SOURCES.map(([field, name]) => ({ name, amountPicoUsd: BigInt(paid[field]) })).filter(
    ({ amountPicoUsd }) => amountPicoUsd !== 0n,
  );
}

/** The bill of a request as text, to paste into a message. */
export function asText(request: BilledRequest): string {
  const { settlement, price } = request;
  const head = [
    `request ${request.requestId}`,
    ...(request.traceId ? [`trace ${request.traceId}`] : []),
    `model ${request.model}${request.upstream ? ` at ${request.upstream}` : ''}`,
    `started ${request.reservedAt}`,
    `held ${exactUsd(BigInt(request.heldPicoUsd))}`,
  ];
  if (!settlement) return [...head, 'running'].join('\n');
  const terms = listTerms(settlement, price).map(
    ({ name, count: number, pricePicoUsd, amountPicoUsd }) =>
      `${name.toLowerCase()}: ${count(number)} × ${pricePicoUsd} = ${amountPicoUsd} pico-USD`,
  );
  return [
    ...head,
    `ended ${settlement.settledAt}: ${settlement.reason}`,
    `price version ${price.version}`,
    ...terms,
    ...(settlement.overPicoUsd !== '0' ? [`beyond the hold, not charged: ${settlement.overPicoUsd} pico-USD`] : []),
    `cost ${exactUsd(BigInt(settlement.costPicoUsd))}`,
    ...listBalanceSources(settlement).map(({ name, amountPicoUsd }) => `paid by ${name}: ${exactUsd(amountPicoUsd)}`),
  ].join('\n');
}
