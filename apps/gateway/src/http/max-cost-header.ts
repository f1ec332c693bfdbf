import type { IncomingHttpHeaders } from 'node:http';
import type { MaxCost } from '../pipeline/max-cost.js';
import { invalidField } from '../protocols/body-fields/body-fields.js';
import { readDollars } from './read-dollars.js';

/** Request header with the most that a request may cost, in dollars: `0.05`, or `0.05; lower-output`. */
export const MAX_COST_HEADER = 'x-tollgate-max-cost';

/**
 * Returns the maximum of a client; undefined for none.
 * @throws {GatewayError} `invalid_request` for anything that is no amount.
 */
export function readMaxCost({ [MAX_COST_HEADER]: header }: IncomingHttpHeaders): MaxCost | undefined {
  if (header === undefined) return undefined;
  const [text = '', ...options] = String(header)
    .split(';')
    .map((part) => part.trim());
  const amount = readDollars(MAX_COST_HEADER, text);
  if (options.length > 1 || (options[0] ?? 'lower-output') !== 'lower-output') {
    throw invalidField(MAX_COST_HEADER, 'must be dollars such as 0.05, or 0.05; lower-output');
  }
  return { amount, lowersOutput: options.length > 0 };
}
