import type { IncomingHttpHeaders } from 'node:http';
import { parseUsd, USD, usdFault } from '#money/pico-usd.js';
import type { MaxCost } from '../pipeline/max-cost.js';
import { invalidField } from '../protocols/body-fields/body-fields.js';

/** Request header with the most that a request may cost, in dollars: `0.05`, or `0.05; lower-output`. */
export const MAX_COST_HEADER = 'x-tollgate-max-cost';

/**
 * Returns the maximum of a client; undefined for none.
 * @throws {GatewayError} `invalid_request` for anything that is no amount.
 */
export function readMaxCost({ [MAX_COST_HEADER]: header }: IncomingHttpHeaders): MaxCost | undefined {
  if (header === undefined) return undefined;
  const [amount = '', ...options] = String(header)
    .split(';')
    .map((part) => part.trim());
  if (!USD.test(amount)) throw invalidField(MAX_COST_HEADER, `is no amount. ${usdFault(amount).replace(/\.$/, '')}`);
  if (options.length > 1 || (options[0] ?? 'lower-output') !== 'lower-output') {
    throw invalidField(MAX_COST_HEADER, 'must be dollars such as 0.05, or 0.05; lower-output');
  }
  return { amount: parseUsd(amount), lowersOutput: options.length > 0 };
}
