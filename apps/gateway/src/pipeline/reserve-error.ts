import type { ReserveOutcome } from '#contracts/billing/holds.js';
import { GatewayError } from '#inference/errors.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import type { Price } from '#money/price.js';
import type { Quote } from './quote.js';

type NotHeld = Exclude<ReserveOutcome, { status: 'held' }>;

/** Returns the error of a reserve that made no hold. Its message says what the client can do. */
export function reserveError(outcome: NotHeld, quote: Quote, price: Price): GatewayError {
  // The hold of this id had ended before the reserve arrived.
  if (outcome.status === 'closed') {
    return new GatewayError('model_unavailable', 'The request could not be admitted in time. Try again.', { retryAfterSeconds: 1 });
  }
  switch (outcome.code) {
    case 'invalid_api_key':
      return new GatewayError('invalid_api_key', 'The API key is not valid or has been revoked.');
    case 'account_frozen':
      // The client cannot change this. `model_unavailable` (503) is the closest code.
      return new GatewayError('model_unavailable', 'The account is frozen. Contact the operator of this gateway.');
    case 'rate_limit_exceeded':
      return limitError(outcome, `${outcome.limit} requests per minute`);
    case 'concurrency_limit':
      return limitError(outcome, `${outcome.limit} requests at once`);
    case 'insufficient_balance':
      return balanceError(outcome, quote, price);
  }
}

/** Clients parse the pause from the words `try again in 12s`. */
function limitError(
  refused: { code: 'rate_limit_exceeded' | 'concurrency_limit'; retryAfterSeconds: number },
  limit: string,
): GatewayError {
  const { code, retryAfterSeconds } = refused;
  return new GatewayError(code, `The project's limit of ${limit} is reached. Please try again in ${retryAfterSeconds}s.`, {
    retryAfterSeconds,
  });
}

function balanceError(refused: { requiredPicoUsd: string; availablePicoUsd: string }, quote: Quote, price: Price): GatewayError {
  const required = parsePicoUsd(refused.requiredPicoUsd);
  const available = parsePicoUsd(refused.availablePicoUsd);
  // With free output only a shorter prompt helps.
  const affordable = price.outputPicoUsd === 0n ? 0n : (available - quote.promptAmount) / price.outputPicoUsd;
  return new GatewayError(
    'insufficient_balance',
    `The request may cost up to $${renderUsd(required)} (${quote.outputTokensMax} output tokens), but only ` +
      `$${renderUsd(available)} of the balance is available. ` +
      (affordable > 0n ? `Lower the output limit to ${affordable} tokens or less, or top up.` : 'Shorten the prompt or top up.'),
  );
}
