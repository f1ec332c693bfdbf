import { type Term as PricedTerm, priceUsage } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import type { BilledRequest, PinnedPrice, RequestBill } from '../../../../src/shapes/billing.js';
import { count, exactUsd } from '../../format/numbers.js';

export interface Term {
  name: string;
  /** Origin of the count, or a part of it. */
  note: string;
  /** Tokens, unless there is a `unit`. */
  count: number;
  unit?: 'request' | 'image' | 'unit';
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
 * bill without tokens is of a request that costs nothing. An item of a service has units and no tokens.
 */
export function listTerms({ usage }: Pick<RequestBill, 'usage'>, price: PinnedPrice): Term[] {
  const { quantity } = usage;
  if (quantity !== undefined) {
    const pricePicoUsd = BigInt(price.requestPicoUsd ?? 0);
    return [
      {
        name: 'Units',
        note: 'counted by the service',
        count: quantity,
        unit: 'unit',
        pricePicoUsd,
        amountPicoUsd: BigInt(quantity) * pricePicoUsd,
      },
    ];
  }
  const { terms, tier } = priceUsage(usage, parsePrice(price));
  const reasoning = usage.reasoningTokens > 0 ? `, ${count(usage.reasoningTokens)} of it reasoning` : '';
  const ofTier = tier === undefined ? '' : `, tier ${tier}`;
  const notes: Partial<Record<PricedTerm['of'], string>> = {
    inputPicoUsd: SOURCES[usage.promptSource],
    outputPicoUsd: SOURCES[usage.outputSource] + reasoning,
  };
  return TERMS.flatMap(({ of, name, note = notes[of] ?? '', unit, isShown }) => {
    const found = terms.filter((term) => term.of === of);
    const none: PricedTerm[] = isShown ? [{ of, count: 0, price: BigInt(price[of] ?? '0') }] : [];
    return (found.length > 0 ? found : none).map(({ count: number, price: pricePicoUsd, above }) => ({
      ...{ name, note: note + (unit ? '' : ofTier) + (above === undefined ? '' : `, priced for prompts above ${count(above)} tokens`) },
      ...{ count: number, ...(unit && { unit }), pricePicoUsd, amountPicoUsd: BigInt(number) * pricePicoUsd },
    }));
  });
}

/** The terms in their order. `isShown`: also without a token. */
const TERMS: readonly { of: PricedTerm['of']; name: string; note?: string; unit?: 'request' | 'image'; isShown?: true }[] = [
  { of: 'inputPicoUsd', name: 'Prompt', isShown: true },
  { of: 'cachedInputPicoUsd', name: 'Cached prompt', note: 'read from the upstream’s cache', isShown: true },
  { of: 'cacheWritePicoUsd', name: 'Prompt written to cache', note: 'by the upstream, kept for 5 minutes' },
  { of: 'cacheWrite1hPicoUsd', name: 'Prompt written to cache', note: 'by the upstream, kept for an hour' },
  { of: 'outputPicoUsd', name: 'Output', isShown: true },
  { of: 'requestPicoUsd', name: 'Request', note: 'besides the tokens', unit: 'request' },
  { of: 'imagePicoUsd', name: 'Images', note: 'besides the tokens', unit: 'image' },
];

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
    `${settlement?.usage.quantity === undefined ? 'model' : 'item'} ${request.model}${request.upstream ? ` at ${request.upstream}` : ''}`,
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
