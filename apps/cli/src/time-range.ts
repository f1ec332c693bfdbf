import { duration, instant, optional } from './parameters.js';
import { UsageError } from './usage-error.js';

/** Days of a query without a start. */
const DAYS_DEFAULT = 30;

const SINCE = optional(duration('3650d'), 'in place of --from: the last time of this length, such as 30m, 2h or 7d');

/** Parameters of a query that may have a start and an end. */
export const TIME_FILTER = {
  from: optional(instant, 'start time, inclusive'),
  since: SINCE,
  to: optional(instant, 'end time, exclusive'),
};

/** Parameters of a query that needs a start. */
export const TIME_RANGE = {
  from: optional(instant, `start time, inclusive; default: midnight UTC, ${DAYS_DEFAULT} days before the end`),
  since: SINCE,
  to: optional(instant, 'end time, exclusive; default: now'),
};

interface Start {
  from: string | undefined;
  /** Seconds. */
  since: number | undefined;
}

/** Returns the start of a query, if it has one. @throws UsageError when both options give one */
export function readStart({ from, since }: Start): string | undefined {
  if (from !== undefined && since !== undefined) throw new UsageError('give --from or --since, not both');
  return since === undefined ? from : new Date(Date.now() - since * 1_000).toISOString();
}

/** Returns the start of a query that needs one. Default: midnight, so that the query of the next page is the same one. */
export function readRange({ to, ...start }: Start & { to: string | undefined }): { from: string; to: string | undefined } {
  const end = to === undefined ? new Date() : new Date(to);
  const midnight = Date.UTC(end.getUTCFullYear(), end.getUTCMonth(), end.getUTCDate() - DAYS_DEFAULT);
  return { from: readStart(start) ?? new Date(midnight).toISOString(), to };
}
