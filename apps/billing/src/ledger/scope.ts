import type { MonthFileName } from '#contracts/billing/months.js';
import { type StoredMonth, toMonthEnd } from '../journal/closed-months.js';
import type { StoredDetachedMonth } from '../journal/detached-months.js';
import type { MonthRange } from '../journal/journal-rows.js';

/** Rows of the journals that a check reads, and the sums of those that it does not read. */
export interface Scope {
  range: MonthRange;
  /** Sources of FROM: the sums by account and by grant of what is not read. */
  opening: { accounts: string; grants: string };
  /** Numbers of rows that are not read. */
  unread: { settlements: number; lateSettlements: number };
  /** Milliseconds from which on the rollups are compared; before them, rows are closed or detached. */
  rollupsFrom: number;
  /** Checkpoint at which the rows begin. Undefined: they begin after the last closed month, or with the first row. */
  checkpoint?: Checkpoint;
}

/** Start of the next scheduled check: all rows of lower transaction ids have passed, and their sums are kept. */
export interface Checkpoint {
  transactionEnd: string;
  /** Time of the check that read the whole open month. */
  madeAt: Date;
  /** Rows below the end, those of closed months included. */
  settlements: number;
  lateSettlements: number;
}

/** Returns the rows after the last closed month; undefined, when there is none or its manifest was changed. */
export function scopeAfter(months: readonly StoredMonth[]): Scope | undefined {
  const month = months.at(-1);
  const after = toMonthEnd(month);
  if (!month || !after) return undefined;
  const closed = (file: MonthFileName): number =>
    months.reduce((sum, { manifest }) => sum + (manifest?.files.find((one) => one.file === file)?.rows ?? 0), 0);
  return {
    range: { after },
    opening: {
      accounts: `(SELECT account_id, closing, topup_closing, refundable FROM billing.month_account WHERE month = '${month.id}')`,
      grants: `(SELECT grant_id, account_id, amount, gone FROM billing.month_grant WHERE month = '${month.id}')`,
    },
    unread: { settlements: closed('settlements'), lateSettlements: closed('late-settlements') },
    rollupsFrom: after.at,
  };
}

/** Returns all rows that are not detached. */
export function makeFullScope(detached: readonly StoredDetachedMonth[]): Scope {
  return {
    range: {},
    opening: {
      accounts:
        '(SELECT account_id, change AS closing, topup_change AS topup_closing, 0::numeric AS refundable FROM billing.detached_account)',
      grants: '(SELECT grant_id, account_id, 0::numeric AS amount, gone FROM billing.detached_grant)',
    },
    unread: {
      settlements: detached.reduce((sum, month) => sum + month.settlements, 0),
      lateSettlements: detached.reduce((sum, month) => sum + month.lateSettlements, 0),
    },
    rollupsFrom: Math.max(Number.NEGATIVE_INFINITY, ...detached.map((month) => month.countedTo.getTime())),
  };
}

/** Returns the rows of `whole` after a checkpoint. */
export function scopeFrom(checkpoint: Checkpoint, whole: Scope): Scope {
  const { transactionEnd, settlements, lateSettlements } = checkpoint;
  return {
    ...whole,
    range: { ...whole.range, from: transactionEnd },
    opening: { accounts: 'billing.checkpoint_account', grants: 'billing.checkpoint_grant' },
    unread: { settlements, lateSettlements },
    checkpoint,
  };
}
