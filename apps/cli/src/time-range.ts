import { instant, optional } from './parameters.js';

/** Days of a query without `--from`. */
const DAYS_DEFAULT = 30;

/** Parameters of a query that needs a start. */
export const TIME_RANGE = {
  from: optional(instant, `start time, inclusive; default: midnight UTC, ${DAYS_DEFAULT} days before the end`),
  to: optional(instant, 'end time, exclusive; default: now'),
};

/** Midnight, so that the query of the next page is the same one. */
export function defaultFrom(to: string | undefined): string {
  const end = to === undefined ? new Date() : new Date(to);
  return new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth(), end.getUTCDate() - DAYS_DEFAULT)).toISOString();
}
