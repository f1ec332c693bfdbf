import { type PicoUsd, parseUsd, picoUsd } from './pico-usd.js';

/** Prices of a prompt token, by what the upstream did with it. */
export interface PromptPrices<Amount = bigint> {
  inputPicoUsd: Amount;
  cachedInputPicoUsd: Amount;
  /** Price of a prompt token that the upstream writes to its cache for 5 minutes. Absent: the input price. */
  cacheWritePicoUsd?: Amount;
  /** As `cacheWritePicoUsd`, for an hour. Absent: `cacheWritePicoUsd`. */
  cacheWrite1hPicoUsd?: Amount;
}

/** Other prices from a size of the prompt on. */
export interface PriceStep<Amount = bigint> extends PromptPrices<Amount> {
  /** A request reaches the step with a prompt of more tokens than this. */
  above: number;
  /** Tokens that have the prices: all of the request, or those of its prompt after `above`. A later step for all replaces the earlier ones. */
  reprices: 'whole' | 'excess';
  /** Only of a step for all tokens. Absent: as without the step. */
  outputPicoUsd?: Amount;
}

/** Prices of the tokens of a request. */
export interface TokenPrices<Amount = bigint> extends PromptPrices<Amount> {
  outputPicoUsd: Amount;
  /** By ascending `above`. Absent: none. */
  steps?: PriceStep<Amount>[];
}

/** Prices of the tokens of requests that the upstream says it served in a tier, with steps of their own. */
interface TierPrices<Amount = bigint> extends TokenPrices<Amount> {
  tier: string;
}

/** Price of each image with more bytes than `aboveBytes`, up to the next step. */
interface ImageStep<Amount = bigint> {
  aboveBytes: number;
  imagePicoUsd: Amount;
  /** Images of the request in this class. Absent: none. */
  images?: number;
}

/**
 * Integers of pico-USD a token, a request and an image. A list price of at most six decimals per million tokens is exact: $0.15/M is
 * 150,000. So a cost is a sum of products and never rounded.
 */
export interface Price<Amount = bigint> extends TokenPrices<Amount> {
  /** Tiers with prices of their own. A request in any other one has the prices above. Absent: none. */
  tiers?: TierPrices<Amount>[];
  /** Price of each billed request, besides its tokens. Absent: 0. */
  requestPicoUsd?: Amount;
  /** Price of each image of a billed prompt, besides its tokens, that no step of `imageSteps` is for. Absent: 0. */
  imagePicoUsd?: Amount;
  /** By ascending `aboveBytes`. Absent: none. */
  imageSteps?: ImageStep<Amount>[];
  /** Images of the request that pays the price, without those of `imageSteps`. Absent: none. */
  images?: number;
}

/** The largest possible hold, $1M. */
export const HOLD_MAX = picoUsd(10n ** 18n);

/** Most digits of a list price before and after the point: of a million tokens, and of a request or image, below the most that a hold can be. */
export const LIST_PRICE_DIGITS = { perMillion: { whole: 7, decimals: 6 }, each: { whole: 6, decimals: 12 } } as const;
/** USD per million tokens as a decimal string. A token's price is then whole pico-USD. */
export const USD_PER_MILLION = /^\d{1,7}(\.\d{1,6})?$/;
/** USD per request or image as a decimal string, exact to the pico-dollar. */
export const USD_EACH = /^\d{1,6}(\.\d{1,12})?$/;

/** Parses a list price in USD per million tokens, such as `"0.15"`. Exact; throws `RangeError` on more than six decimals. */
export function parseUsdPerMillionTokens(text: string): bigint {
  if (!USD_PER_MILLION.test(text))
    throw new RangeError(`not a price per million tokens such as "0.15" (at most six decimals): ${JSON.stringify(text)}`);
  return parseUsd(text) / 1_000_000n;
}

export interface BillableUsage {
  /** Includes the next three. */
  promptTokens: number;
  /** Read from the upstream's cache. */
  cachedTokens: number;
  /** Written to the upstream's cache for 5 minutes. Absent: 0. */
  cacheWriteTokens?: number;
  /** Written to the upstream's cache for an hour. Absent: 0. */
  cacheWrite1hTokens?: number;
  outputTokens: number;
  /** Tier that the upstream says it served. Absent: its usual one. */
  tier?: string;
  /** Units of an item of a service, such as pages: each costs `requestPicoUsd`, and tokens cost nothing. Absent: it is a request of a model. */
  quantity?: number;
}

/** A part of a cost: a count of tokens, images or the request itself, times its price. */
export interface Term {
  of: keyof PromptPrices | 'outputPicoUsd' | 'requestPicoUsd' | 'imagePicoUsd';
  count: number;
  price: bigint;
  /** `above` of the step that has the price. Absent: the price is of no step. */
  above?: number;
}

export interface PricedUsage {
  cost: PicoUsd;
  /** Parts of the cost. A count of zero has none. */
  terms: Term[];
  /** `above` of the last step that the prompt reaches. Absent: none. */
  step?: number;
  /** Tier whose prices these are. Absent: none. */
  tier?: string;
}

/**
 * Prices a usage: the exact cost and its parts. A usage without tokens is of a request that is not billed, and costs nothing; any other one
 * also costs the price of a request and of its images. Requires counts of which those of the cache are within the prompt; throws `RangeError`
 * otherwise.
 */
export function priceUsage(usage: BillableUsage, price: Price): PricedUsage {
  if (usage.quantity !== undefined) return priceQuantity(usage.quantity, price);
  const parts = PROMPT_ORDER.map((of) => [of, COUNTS[of](usage)] as const);
  if (!(isCount(usage.promptTokens) && isCount(usage.outputTokens) && parts.every(([, count]) => isCount(count)))) {
    throw new RangeError(`impossible usage: ${JSON.stringify(usage)}`);
  }
  return priceCase(price, usage, ({ from, to, prices }, add) => {
    let start = 0;
    for (const [of, count] of parts) {
      add(of, Math.min(to, start + count) - Math.max(from, start), prices[of]);
      start += count;
    }
  });
}

function priceQuantity(count: number, { requestPicoUsd: price = 0n }: Price): PricedUsage {
  if (!isCount(count)) throw new RangeError(`impossible quantity: ${count}`);
  const cost = picoUsd(BigInt(count) * price);
  return { cost, terms: cost > 0n ? [{ of: 'requestPicoUsd', count, price }] : [] };
}

/** Exact cost of a usage (`priceUsage`). */
export function computeCost(usage: BillableUsage, price: Price): PicoUsd {
  return priceUsage(usage, price).cost;
}

interface HoldSize {
  promptTokensMax: number;
  outputTokensMax: number;
}

/** The most that a request can cost: the dearest of the cases that it can become. */
export function holdFor(size: HoldSize, price: Price): PicoUsd {
  return picoUsd(listReachable(size, price).reduce((most, { cost }) => (cost > most ? cost : most), 0n));
}

/** Returns the most output for which an amount is a hold; nothing when less output would not lower the hold. */
export function outputWithin(amount: bigint, promptTokensMax: number, price: Price): bigint {
  const most = listReachable({ promptTokensMax, outputTokensMax: 1 }, price).flatMap(({ cost, terms }) => {
    const perToken = terms.find(({ of }) => of === 'outputPicoUsd')?.price ?? 0n;
    if (perToken > 0n) return [(amount - (cost - perToken)) / perToken];
    return cost > amount ? [0n] : [];
  });
  return most.reduce((least, tokens) => (tokens < least ? tokens : least), most[0] ?? 0n);
}

/**
 * Returns the usage with as many prompt tokens as `amount` covers, the first ones of the prompt; the same usage when it covers all. Of a short
 * prompt, an upstream may count more tokens than one a byte. `amount` must cover the request, its images and the output.
 */
export function limitPrompt<Used extends BillableUsage>(usage: Used, amount: PicoUsd, price: Price): Used {
  if (computeCost(usage, price) <= amount) return usage;
  const isCovered = (tokens: number): boolean => computeCost(firstTokens(usage, tokens), price) <= amount;
  // Between two of these sizes a longer prompt costs no less.
  const [most = 0, ...sizes] = listPeaks(findTokenPrices(price, usage.tier), usage.promptTokens);
  let longest = most;
  for (const below of [...sizes, -1]) {
    if (isCovered(below + 1)) return firstTokens(usage, findLast(below + 1, longest, isCovered));
    longest = below;
  }
  return firstTokens(usage, 0);
}

/** Fields of a request that select its prices. A charge is one case; a hold is for all that the request can become. */
type Case = Pick<BillableUsage, 'promptTokens' | 'outputTokens' | 'tier'>;

/** Tokens of a prompt from one place to another, with their prices. */
interface Stretch {
  from: number;
  to: number;
  prices: Required<PromptPrices>;
}

/** Adds the terms of a stretch of the prompt. */
type AddPrompt = (stretch: Stretch, add: (of: keyof PromptPrices, count: number, price: bigint) => void) => void;

/** Prices one case of a request. Nothing else reads the rules of a price, so that what is charged is what was held. */
function priceCase(price: Price, { promptTokens, outputTokens, tier }: Case, addPrompt: AddPrompt): PricedUsage {
  const terms: Term[] = [];
  if (promptTokens + outputTokens === 0) return { cost: picoUsd(0n), terms };
  const add = (of: Term['of'], count: number, each: bigint | undefined, above?: number): void => {
    if (count > 0 && each !== undefined) terms.push({ of, count, price: each, ...(above !== undefined && { above }) });
  };
  const list = findTokenPrices(price, tier);
  let output: [price: bigint, above?: number] = [list.outputPicoUsd];
  let stretches: { from: number; prices: PromptPrices; above?: number }[] = [{ from: 0, prices: list }];
  let reached: number | undefined;
  for (const step of list.steps ?? []) {
    const { above, reprices, outputPicoUsd } = step;
    if (promptTokens <= above) break;
    reached = above;
    if (reprices === 'excess') stretches.push({ from: above, prices: step, above });
    else {
      stretches = [{ from: 0, prices: step, above }];
      output = outputPicoUsd === undefined ? [list.outputPicoUsd] : [outputPicoUsd, above];
    }
  }
  stretches.forEach(({ from, prices, above }, index) => {
    const to = stretches[index + 1]?.from ?? promptTokens;
    addPrompt({ from, to, prices: withWrites(prices) }, (of, count, each) => add(of, count, each, above));
  });
  add('outputPicoUsd', outputTokens, ...output);
  add('requestPicoUsd', 1, price.requestPicoUsd);
  add('imagePicoUsd', price.images ?? 0, price.imagePicoUsd);
  for (const { images = 0, imagePicoUsd } of price.imageSteps ?? []) add('imagePicoUsd', images, imagePicoUsd);
  return {
    cost: picoUsd(terms.reduce((sum, { count, price }) => sum + BigInt(count) * price, 0n)),
    terms,
    ...(reached !== undefined && { step: reached }),
    ...(list !== price && tier !== undefined && { tier }),
  };
}

/** Counts of a prompt by their price. A price of prompt tokens without a count does not compile, and a hold takes the dearest of all. */
const COUNTS: Record<keyof PromptPrices, (usage: BillableUsage) => number> = {
  cachedInputPicoUsd: ({ cachedTokens }) => cachedTokens,
  cacheWrite1hPicoUsd: ({ cacheWrite1hTokens = 0 }) => cacheWrite1hTokens,
  cacheWritePicoUsd: ({ cacheWriteTokens = 0 }) => cacheWriteTokens,
  inputPicoUsd: ({ promptTokens, cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 }) =>
    promptTokens - cachedTokens - cacheWriteTokens - cacheWrite1hTokens,
};

/** The order of the parts in a prompt: what the cache had, what it got, the rest. An upstream that keeps a part for an hour has it first. */
const PROMPT_ORDER = Object.keys(COUNTS) as (keyof PromptPrices)[];

/** Prices every case that a request can become, each at its dearest: any tier, any size of the prompt, and the prompt all at its dearest price. */
function listReachable({ promptTokensMax, outputTokensMax: outputTokens }: HoldSize, price: Price): PricedUsage[] {
  const tiers = [undefined, ...(price.tiers ?? []).map(({ tier }) => tier)];
  return tiers.flatMap((tier) =>
    listPeaks(findTokenPrices(price, tier), promptTokensMax).map((promptTokens) =>
      priceCase(price, { promptTokens, outputTokens, ...(tier !== undefined && { tier }) }, ({ from, to, prices }, add) => {
        const dearest = PROMPT_ORDER.reduce((one, other) => (prices[other] > prices[one] ? other : one));
        add(dearest, to - from, prices[dearest]);
      }),
    ),
  );
}

/** Returns the sizes of a prompt after which one more token can lower the cost: the most it can have, and the last below a step. Largest first. */
function listPeaks({ steps = [] }: TokenPrices, promptTokensMax: number): number[] {
  return [promptTokensMax, ...steps.flatMap(({ above }) => (above < promptTokensMax ? [above] : [])).reverse()];
}

function findTokenPrices(price: Price, tier: string | undefined): TokenPrices {
  return (tier !== undefined && price.tiers?.find((prices) => prices.tier === tier)) || price;
}

/** Returns the prices with those of writing to a cache, also where they do not name them. */
export function withWrites<Amount>(prices: PromptPrices<Amount>): Required<PromptPrices<Amount>> {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd = inputPicoUsd, cacheWrite1hPicoUsd = cacheWritePicoUsd } = prices;
  return { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd };
}

/** Returns the usage with the first tokens of its prompt. */
function firstTokens<Used extends BillableUsage>(usage: Used, promptTokens: number): Used {
  let left = promptTokens;
  const take = (of: keyof PromptPrices): number => {
    const taken = Math.min(left, COUNTS[of](usage));
    left -= taken;
    return taken;
  };
  const taken = Object.fromEntries(PROMPT_ORDER.map((of) => [of, take(of)])) as Record<keyof PromptPrices, number>;
  return {
    ...usage,
    promptTokens,
    cachedTokens: taken.cachedInputPicoUsd,
    ...(usage.cacheWriteTokens !== undefined && { cacheWriteTokens: taken.cacheWritePicoUsd }),
    ...(usage.cacheWrite1hTokens !== undefined && { cacheWrite1hTokens: taken.cacheWrite1hPicoUsd }),
  };
}

/** Returns the last number that is true, of a range whose first one is. */
function findLast(first: number, last: number, isTrue: (value: number) => boolean): number {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isTrue(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
