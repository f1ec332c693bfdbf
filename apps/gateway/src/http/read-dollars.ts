import { type PicoUsd, parseUsd, USD, usdFault } from '#money/pico-usd.js';
import { invalidField } from '../protocols/body-fields/body-fields.js';

/**
 * Returns the amount in dollars of a request header such as `0.50`.
 * @throws {GatewayError} `invalid_request`, with how to write it, for a text that is no amount.
 */
export function readDollars(header: string, text: string): PicoUsd {
  const amount = text.trim();
  if (!USD.test(amount)) throw invalidField(header, `is no amount. ${usdFault(amount).replace(/\.$/, '')}`);
  return parseUsd(amount);
}
