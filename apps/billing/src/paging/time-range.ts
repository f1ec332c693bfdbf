import { ServiceError } from '#contracts/service-error.js';

/**
 * Parses the range from `from` (included) to `to` (excluded).
 * @throws {ServiceError} `invalid_request` for `to` when it is not later.
 */
export function timeRange(from: string | undefined, to: string | undefined): { from?: Date; to?: Date } {
  const range = { from: from ? new Date(from) : undefined, to: to ? new Date(to) : undefined };
  if (range.from && range.to && range.from >= range.to) {
    throw new ServiceError('invalid_request', 'to must be later than from.', 'to');
  }
  return range;
}
