import type { HoldRenewal } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { CHILD_IS_ACTIVE, KEY_IS_ACTIVE } from '../payer/key-status.js';
import { type Columns, statement } from '../sql/statement.js';

/** A renewal of a hold for an item, by the service that it is of. */
export type ItemRenewal = HoldRenewal & { service: string };

const READING: Columns<ItemRenewal> = {
  id: ['uuid', (row) => row.holdId],
  service: ['text', (row) => row.service],
  sequence: ['int4', (row) => row.sequence],
  quantity: ['int4', ({ usage }) => usage.quantity ?? 0],
  lease_ms: ['int4', (row) => row.leaseMs],
};

/** As `RENEW_HOLDS`, of holds that the service may name: those of its own items. */
const RENEW_ITEMS = statement<{ renewals: readonly ItemRenewal[]; leaseMs: number }, { id: string; may_call: boolean | null }>(
  'renew_items',
  (inputs) => {
    const readings = inputs.rows(READING, ({ renewals }) => renewals);
    return `WITH locked AS MATERIALIZED (
      SELECT id, key_id, project_id, account_id, attribution ->> 'child' AS child FROM billing.hold WHERE id = ANY (${readings.first}) ORDER BY id FOR UPDATE
    )
    UPDATE billing.hold h SET
      lease_until = clock_timestamp() + coalesce(r.lease_ms, ${inputs.value(({ leaseMs }) => leaseMs)}) * interval '1 millisecond',
      meter_sequence = greatest(h.meter_sequence, r.sequence),
      meter_quantity = CASE WHEN r.sequence > h.meter_sequence THEN r.quantity ELSE h.meter_quantity END
    FROM ${readings.as('r')}
      JOIN locked l ON l.id = r.id
      LEFT JOIN billing.api_key k ON k.id = l.key_id
      LEFT JOIN billing.project p ON p.id = l.project_id
      LEFT JOIN billing.account a ON a.id = l.account_id
    WHERE h.id = r.id AND h.quantity_max IS NOT NULL AND split_part(h.model, '/', 1) = r.service
    RETURNING h.id, ${KEY_IS_ACTIVE} AND ${CHILD_IS_ACTIVE} AND p.enabled AND a.status = 'active' AS may_call`;
  },
);

/** Extends leases and keeps readings, and returns the ids of the renewed holds; true when the key, child key, project and account may still call. */
export async function renewItems(
  connection: PgConnection,
  renewals: readonly ItemRenewal[],
  leaseMs: number,
): Promise<ReadonlyMap<string, boolean>> {
  if (renewals.length === 0) return new Map();
  const newest = new Map<string, ItemRenewal>();
  for (const renewal of renewals) {
    const name = `${renewal.holdId} ${renewal.service}`;
    if (renewal.sequence >= (newest.get(name)?.sequence ?? 0)) newest.set(name, renewal);
  }
  const { rows } = await RENEW_ITEMS.execute(connection, { renewals: [...newest.values()], leaseMs });
  return new Map(rows.map(({ id, may_call }) => [id, may_call === true]));
}

export function isItem(renewal: HoldRenewal): renewal is ItemRenewal {
  return renewal.service !== undefined;
}
