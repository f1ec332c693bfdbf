import type { UsageGroup, UsageQueryReply, UsageRow, UsageStep } from '#contracts/billing/usage.js';

/** `GET /accounts/{a}/usage` and `usage.csv`; `{a}` is `all` for the whole platform. */
export type { UsageGroup, UsageQueryReply, UsageRow, UsageStep };

/** Query of `usage`. `usage.csv` takes the same without `limit` and `cursor`. */
export interface UsageFilter {
  /** Start, included: `2027-01-31`, or a time with its zone. */
  from: string;
  /** End, excluded. Default: now. */
  to?: string;
  /** One row per hour or day in UTC. Default: one for the whole time. */
  step?: UsageStep;
  /** One row per value of each, separated by commas: `model,project`. */
  groupBy?: string;
  projectId?: string;
  keyId?: string;
  model?: string;
  upstream?: string;
  /** Reason of the end: `completed`, `failed`, `client-disconnected`, `released`, `lease-expired`. */
  ending?: string;
  /** At most 1,000, the default. */
  limit?: number;
  cursor?: string;
}
