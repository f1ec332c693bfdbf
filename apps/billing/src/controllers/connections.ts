import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { LANE_SETTINGS } from '../batch/apply-batch.js';
import type { BillingConfig } from '../billing.config.js';

/** Connects a lane, or work that is as short. */
export function connectLane({ databaseUrl: url }: BillingConfig): Promise<PgConnection> {
  const limits = { statementTimeoutMs: 2_000, connectTimeoutMs: 1_000 };
  return connectPg({ url, applicationName: 'tollgate-billing-lane', ...limits, settings: LANE_SETTINGS });
}

/** Connects for statements that read the whole journal. The name of the connection ends with `use`. */
export function connectForMinutes(
  { databaseUrl: url, ledgerCheckTimeoutMs }: BillingConfig,
  use = 'auditor',
  statementTimeoutMs = ledgerCheckTimeoutMs,
): Promise<PgConnection> {
  return connectPg({
    url,
    applicationName: `tollgate-billing-${use}`,
    statementTimeoutMs,
    // Postgres compiles such a statement for longer than it runs, on every core. A replica that stops during a check must not keep its
    // snapshot, which a migration waits for.
    settings: { jit: 'off', idle_in_transaction_session_timeout: '10000' },
  });
}
