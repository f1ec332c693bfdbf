import type { ReserveOutcome } from '#contracts/billing/holds.js';
import { GatewayError } from '#inference/errors.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import type { Price } from '#money/price.js';
import type { Quote } from './quote.js';

type Refusal = Exclude<ReserveOutcome, { status: 'held' }>;

/** Says why a request was not admitted, in words that tell its sender what to do. */
export function refusalError(refusal: Refusal, quote: Quote, price: Price): GatewayError {
  if (refusal.status === 'closed') {
    return new GatewayError('model_unavailable', 'The request could not be admitted in time. Try again.', { retryAfterSeconds: 1 });
  }
  switch (refusal.code) {
    case 'invalid_api_key':
      return new GatewayError('invalid_api_key', 'The API key is not valid or has been revoked.');
    case 'account_frozen':
      // None of the client's doing that it could change: the codes have no better one than "not now" (docs/money.md).
      return new GatewayError('model_unavailable', 'The account is on hold. Its requests are refused until an operator has looked at it.');
    case 'rate_limit_exceeded':
      return limitError(refusal, `${refusal.limit} requests per minute`);
    case 'concurrency_limit':
      return limitError(refusal, `${refusal.limit} requests at once`);
    case 'insufficient_balance':
      return balanceError(refusal, quote, price);
  }
}

/** `try again in 12s` is what clients read the pause from (E-5). */
function limitError(
  refusal: { code: 'rate_limit_exceeded' | 'concurrency_limit'; retryAfterSeconds: number },
  limit: string,
): GatewayError {
  const { code, retryAfterSeconds } = refusal;
  return new GatewayError(code, `The project's limit of ${limit} is reached. Please try again in ${retryAfterSeconds}s.`, {
    retryAfterSeconds,
  });
}

function balanceError(refusal: { requiredPicoUsd: string; availablePicoUsd: string }, quote: Quote, price: Price): GatewayError {
  const required = parsePicoUsd(refusal.requiredPicoUsd);
  const available = parsePicoUsd(refusal.availablePicoUsd);
  const affordable = price.outputPicoUsd === 0n ? 0n : (available - quote.promptAmount) / price.outputPicoUsd;
  return new GatewayError(
    'insufficient_balance',
    `The request may cost up to $${renderUsd(required)} (${quote.outputTokensMax} output tokens), but only ` +
      `$${renderUsd(available)} of the balance is available. ` +
      (affordable > 0n ? `Lower the output limit to ${affordable} tokens or less, or top up.` : 'Shorten the prompt or top up.'),
  );
}
