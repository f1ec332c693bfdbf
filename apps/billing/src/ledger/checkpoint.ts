import type { PgConnection } from '#database/pg-connection.js';
import { accountEntries, grantEntries } from '../journal/journal-entries.js';
import { selectRows } from '../journal/journal-rows.js';
import type { Query } from '../journal/month-files.js';
import type { Checkpoint, Scope } from './scope.js';

/**
 * Returns the checkpoint after a closed month, empty: none. Returns undefined when it is of another month or another cluster of Postgres, or
 * is a day old: then the whole open month is read again.
 */
export async function readCheckpoint(query: Query, month: string): Promise<Checkpoint | undefined> {
  const [found] = await query<Checkpoint>(
    `SELECT transaction_end::text AS "transactionEnd", made_at AS "madeAt", settlements::float8, late_settlements::float8 AS "lateSettlements"
     FROM billing.checkpoint WHERE month = $1 AND system_identifier = (SELECT system_identifier FROM pg_control_system())
       AND made_at > now() - interval '1 day'`,
    [month],
  );
  return found;
}

/** A check of a snapshot in which all invariants held. */
export interface Passed {
  scope: Scope;
  /** The last closed month; empty: none. */
  month: string;
  at: Date;
  /** Every transaction below it had ended, so no row can be added below it. */
  transactionEnd: string;
}

/**
 * Adds the rows below `transactionEnd` to the sums, in the snapshot of the check, so that no row is added that it has not read. After a check
 * without a checkpoint the sums are made anew.
 */
export async function moveCheckpoint(connection: PgConnection, { scope, month, at, transactionEnd }: Passed): Promise<void> {
  const { checkpoint, opening, unread } = scope;
  const range = { ...scope.range, below: transactionEnd };
  if (!checkpoint) await connection.query('DELETE FROM billing.checkpoint_account; DELETE FROM billing.checkpoint_grant');
  const andOpening = (sums: string): string => (checkpoint ? '' : `UNION ALL SELECT * FROM ${sums} o`);
  await connection.query(
    `INSERT INTO billing.checkpoint_account AS c (account_id, closing, topup_closing, refundable)
     SELECT account_id, sum(change), sum(topup_change), sum(refundable) FROM (
       SELECT account_id, change, topup_change, topups - refunds AS refundable FROM ${accountEntries(range)} e
       ${andOpening(opening.accounts)}) entries GROUP BY account_id
     ON CONFLICT (account_id) DO UPDATE SET closing = c.closing + excluded.closing,
       topup_closing = c.topup_closing + excluded.topup_closing, refundable = c.refundable + excluded.refundable`,
  );
  await connection.query(
    `INSERT INTO billing.checkpoint_grant AS c (grant_id, account_id, amount, gone)
     SELECT grant_id, account_id, sum(amount), sum(gone) FROM (
       SELECT grant_id, account_id, amount, gone FROM ${grantEntries(range)} e ${andOpening(opening.grants)}) entries
     GROUP BY grant_id, account_id
     ON CONFLICT (grant_id, account_id) DO UPDATE SET amount = c.amount + excluded.amount, gone = c.gone + excluded.gone`,
  );
  await connection.query('DELETE FROM billing.checkpoint');
  await connection.query(
    `INSERT INTO billing.checkpoint (month, transaction_end, system_identifier, made_at, settlements, late_settlements)
     SELECT $1, $2, (SELECT system_identifier FROM pg_control_system()), $3,
       $4 + (SELECT count(*) FROM ${selectRows('settlement', range)} s), $5 + (SELECT count(*) FROM ${selectRows('late_settlement', range)} l)`,
    [month, transactionEnd, checkpoint?.madeAt ?? at, unread.settlements, unread.lateSettlements],
  );
}
