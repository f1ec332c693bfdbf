import { createHmac } from 'node:crypto';
import { QUOTE_KEY_MS } from '#contracts/billing/quotes.js';
import { ServiceError } from '#contracts/service-error.js';

/**
 * Returns the key that signs quotes in one hour. It is derived from the pepper of the API keys and stored nowhere, so that all replicas have
 * the same and it changes by itself.
 * @throws {ServiceError} `not_found` for another hour than the present one and its neighbours, which clocks that differ may name.
 */
export function findQuoteKey(pepper: string, asked: number | undefined, now = Date.now()): string {
  const present = Math.floor(now / QUOTE_KEY_MS);
  const number = asked ?? present;
  if (Math.abs(number - present) > 1) throw new ServiceError('not_found', 'There is no key of that time.', 'number');
  return createHmac('sha256', pepper).update(`quote ${number}`).digest('base64');
}
