/** The journals that months are made of, with the column of their time. */
export const JOURNALS = { settlement: 'settled_at', late_settlement: 'settled_at', movement: 'created_at' } as const;

export type Journal = keyof typeof JOURNALS;

/**
 * End of a closed month: the rows of the month and of all before have an earlier time and a lower transaction id. All transactions below had
 * ended when the month was closed. A row that a clock set back puts into a closed month has a higher one: it belongs to a later month.
 */
export interface MonthEnd {
  /** In milliseconds. */
  at: number;
  transactionEnd: string;
}

/** Rows after the end of one month, up to the end of another; without a bound, from the first row or to the last. */
export interface MonthRange {
  after?: MonthEnd | undefined;
  to?: MonthEnd | undefined;
  /** Only rows of these transaction ids, `below` excluded. */
  from?: string;
  below?: string;
  /** Only rows of lower hold ids, so no movements. */
  idsBelow?: string;
}

/** Returns the rows of a journal as a source of FROM. The bounds are literals of the plan, so that the indexes on transaction ids are used. */
export function selectRows(journal: Journal, { after, to, from, below, idsBelow }: MonthRange): string {
  const at = JOURNALS[journal];
  const conditions = [
    after && `(${at} >= ${moment(after.at)} OR transaction_id >= ${after.transactionEnd})`,
    to && `${at} < ${moment(to.at)} AND transaction_id < ${to.transactionEnd}`,
    from && `transaction_id >= ${from}`,
    below && `transaction_id < ${below}`,
    idsBelow && (journal === 'movement' ? 'false' : `hold_id < '${idsBelow}'`),
  ].filter((condition) => condition !== undefined);
  return conditions.length === 0 ? `billing.${journal}` : `(SELECT * FROM billing.${journal} WHERE ${conditions.join(' AND ')})`;
}

/** Renders a time as a literal. */
export function moment(at: number): string {
  return `'${new Date(at).toISOString()}'::timestamptz`;
}

/** Returns the first moment of a month, in milliseconds. */
export function monthStart(month: string): number {
  return Date.parse(`${month}-01T00:00:00Z`);
}

export function monthAfter(month: string): string {
  const start = new Date(monthStart(month));
  return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1)).toISOString().slice(0, 7);
}
