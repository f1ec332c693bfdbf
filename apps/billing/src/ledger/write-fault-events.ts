import type { LedgerCheckReply } from '#contracts/billing/ledger.js';
import type { PgConnection } from '#database/pg-connection.js';

/** Ascending accounts, as every transaction that locks several. */
const WRITE_FAULTS = `INSERT INTO billing.money_event (account_id, kind, payload)
  SELECT f.account_id, 'ledger-fault', jsonb_build_object('invariants', f.invariants::jsonb, 'checkedAt', $3::text)
  FROM unnest($1::uuid[], $2::text[]) AS f (account_id, invariants) JOIN billing.account a ON a.id = f.account_id
  WHERE NOT EXISTS (SELECT FROM billing.money_event e WHERE e.account_id = f.account_id AND e.kind = 'ledger-fault'
    AND e.payload -> 'invariants' = f.invariants::jsonb AND e.created_at > clock_timestamp() - interval '1 day')
  ORDER BY f.account_id`;

/** Writes an event for each account in which a check has found faults. An account with the same broken invariants gets one event a day. */
export async function writeFaultEvents(connection: PgConnection, { violations, checkedAt }: LedgerCheckReply): Promise<void> {
  const faults = Map.groupBy(
    violations.filter(({ accountId }) => accountId !== null),
    ({ accountId }) => accountId,
  );
  if (faults.size === 0) return;
  const broken = Array.from(faults.values(), (ofAccount) => [...new Set(ofAccount.map(({ invariant }) => invariant))].sort());
  await connection.query(WRITE_FAULTS, [[...faults.keys()], broken.map((invariants) => JSON.stringify(invariants)), checkedAt]);
}
