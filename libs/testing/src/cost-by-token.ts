import type { BillableUsage, Price, TokenPrices } from '#money/price.js';

/** Prices a usage token by token, as docs/money.md has it and without the code of libs/money, so that tests can compare the two. */
export function costByToken(usage: BillableUsage, price: Price): bigint {
  const { promptTokens, cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0, outputTokens } = usage;
  if (promptTokens + outputTokens === 0) return 0n;
  const list: TokenPrices = price.tiers?.find(({ tier }) => tier === usage.tier) ?? price;
  const reached = (list.steps ?? []).filter(({ above }) => promptTokens > above);
  const whole = reached.filter(({ reprices }) => reprices === 'whole').at(-1);
  let cost = BigInt(outputTokens) * (whole?.outputPicoUsd ?? list.outputPicoUsd);
  for (let place = 1; place <= promptTokens; place += 1) {
    const excess = reached.filter((step) => step.reprices === 'excess' && place > step.above && step.above > (whole?.above ?? 0)).at(-1);
    const prices = excess ?? whole ?? list;
    const written = prices.cacheWritePicoUsd ?? prices.inputPicoUsd;
    if (place <= cachedTokens) cost += prices.cachedInputPicoUsd;
    else if (place <= cachedTokens + cacheWrite1hTokens) cost += prices.cacheWrite1hPicoUsd ?? written;
    else if (place <= cachedTokens + cacheWrite1hTokens + cacheWriteTokens) cost += written;
    else cost += prices.inputPicoUsd;
  }
  for (const { images = 0, imagePicoUsd } of price.imageSteps ?? []) cost += BigInt(images) * imagePicoUsd;
  return cost + (price.requestPicoUsd ?? 0n) + BigInt(price.images ?? 0) * (price.imagePicoUsd ?? 0n);
}

/** The most that a usage costs, whether or not its whole prompt is billed and its tier is known. */
export function dearestPart({ tier, ...usage }: BillableUsage, price: Price): bigint {
  const bounds = [price, ...(price.tiers ?? [])].flatMap(({ steps = [] }) => steps.map(({ above }) => above));
  // Between two bounds a longer prompt costs no less.
  const parts = [...bounds, usage.promptTokens].map((tokens) => cutPrompt(usage, Math.min(tokens, usage.promptTokens)));
  const costs = parts.flatMap((part) => [costByToken(part, price), ...(tier === undefined ? [] : [costByToken({ ...part, tier }, price)])]);
  return costs.reduce((one, other) => (one > other ? one : other));
}

/** Returns the usage with the first tokens of its prompt: those read from the cache, written for an hour, written for 5 minutes, the others. */
export function cutPrompt<Used extends BillableUsage>(usage: Used, promptTokens: number): Used {
  const { cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  const cached = Math.min(cachedTokens, promptTokens);
  const written1h = Math.min(cacheWrite1hTokens, promptTokens - cached);
  const written = Math.min(cacheWriteTokens, promptTokens - cached - written1h);
  return { ...usage, promptTokens, cachedTokens: cached, cacheWriteTokens: written, cacheWrite1hTokens: written1h };
}
