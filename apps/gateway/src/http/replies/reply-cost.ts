import type { IncomingHttpHeaders } from 'node:http';
import type { Usage } from '#inference/usage.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { invalidField } from '../../protocols/body-fields/body-fields.js';
import type { ShownUsage } from '../../protocols/protocol-adapter.js';
import type { HttpExchange } from '../http-exchange.js';

/** Reply header with what the request cost, in dollars. */
export const COST_HEADER = 'x-tollgate-cost';
/** Request header with what a reply shall have in addition to the fields of its format: `cost`. */
export const INCLUDE_HEADER = 'x-tollgate-include';

/**
 * True when the client asks for the cost in the usage. It never is there unasked, because strict clients refuse fields that they do not know.
 * @throws {GatewayError} `invalid_request` for anything else in the header.
 */
export function readIncludesCost({ [INCLUDE_HEADER]: header }: IncomingHttpHeaders): boolean {
  if (header === undefined) return false;
  const names = String(header)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.some((name) => name !== 'cost')) throw invalidField(INCLUDE_HEADER, 'must be cost');
  return names.length > 0;
}

/** Returns the cost as recorded by billing in dollars; undefined when it is not known yet, or nothing was to pay. */
export function findCost({ inference }: HttpExchange): string | undefined {
  const { costPicoUsd } = inference ?? {};
  return costPicoUsd === undefined ? undefined : renderUsd(parsePicoUsd(costPicoUsd));
}

/** Returns the usage with the cost where the client asked for it. */
export function showUsage(exchange: HttpExchange, usage: Usage): ShownUsage {
  const costUsd = exchange.includesCost ? findCost(exchange) : undefined;
  return costUsd === undefined ? usage : { ...usage, costUsd };
}
