import { GatewayError } from '#inference/errors.js';
import { type PicoUsd, renderUsd } from '#money/pico-usd.js';
import { holdFor, outputWithin } from '#money/price.js';
import type { Quote } from './quote.js';

/** The most that a client lets its request cost. */
export interface MaxCost {
  amount: PicoUsd;
  /** The output cap may be lowered until the request fits. */
  lowersOutput: boolean;
}

/**
 * Returns a quote of at most the client's maximum. Its amount is what the request holds, and no settlement charges more than the hold, so
 * nothing else must know the maximum.
 * @throws {GatewayError} `insufficient_balance`, as for a budget, when the request may cost more.
 */
export function limitCost(quote: Quote, maxCost: MaxCost | undefined): Quote {
  if (maxCost === undefined || quote.amount <= maxCost.amount) return quote;
  const fitting = outputWithin(maxCost.amount, quote.promptTokensMax, quote.price);
  if (maxCost.lowersOutput && fitting > 0n && fitting < BigInt(quote.outputTokensMax)) {
    const outputTokensMax = Number(fitting);
    const amount = holdFor({ promptTokensMax: quote.promptTokensMax, outputTokensMax }, quote.price);
    if (amount <= maxCost.amount) return { ...quote, outputTokensMax, amount };
  }
  const output = quote.outputTokensMax === 0 ? '' : ` (${quote.outputTokensMax} output tokens)`;
  throw new GatewayError(
    'insufficient_balance',
    `The request may cost up to $${renderUsd(quote.amount)}${output}, more than the $${renderUsd(maxCost.amount)} of \`x-tollgate-max-cost\`. ` +
      (fitting > 0n ? `Lower the output limit to ${fitting} tokens or less.` : 'Shorten the prompt.'),
  );
}
