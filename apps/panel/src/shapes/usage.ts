import type { UsageQueryReply, UsageRow } from '#contracts/billing/usage.js';

/** `GET /accounts/{a}/usage` and `usage.csv`; `{a}` is `all` for the whole platform. */
export type { UsageQueryReply, UsageRow };
