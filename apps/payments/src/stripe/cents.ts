import { ServiceError } from '#contracts/service-error.js';
import { PICO_PER_USD, parseUsd, picoUsd, renderUsd } from '#money/pico-usd.js';

const PICO_PER_CENT = PICO_PER_USD / 100n;

/** Pico-dollars of a number of cents, as Stripe writes amounts. Exact. */
export function centsToPico(cents: number): bigint {
  return BigInt(cents) * PICO_PER_CENT;
}

/** Dollars of a number of cents, as billing takes them. Exact. */
export function centsToUsd(cents: number): string {
  return renderUsd(picoUsd(centsToPico(cents)));
}

/** True for what can be an amount of Stripe: a positive whole number. */
export function isAmount(cents: unknown): cents is number {
  return typeof cents === 'number' && Number.isSafeInteger(cents) && cents > 0;
}

/** Cents of an amount in dollars. @throws {ServiceError} `invalid_request` for an amount with a part of a cent. */
export function usdToCents(usd: string, param = 'usd'): number {
  const amount = parseUsd(usd);
  if (amount % PICO_PER_CENT !== 0n)
    throw new ServiceError('invalid_request', 'Stripe takes whole cents: write at most two decimals.', param);
  return Number(amount / PICO_PER_CENT);
}
