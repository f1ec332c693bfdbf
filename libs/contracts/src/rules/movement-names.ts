// Names of the lines of a statement, for the pages and the files. Imports nothing: browsers load it.

/** Names of the kinds of movements, and of the requests of a day. */
export const MOVEMENT_NAMES = {
  topup: 'Top-up',
  grant: 'Plan',
  forfeit: 'End of a plan',
  refund: 'Refund',
  credit: 'Credit',
  'credit-note': 'Credit note',
  debit: 'Debit',
  usage: 'Requests',
} as const;
