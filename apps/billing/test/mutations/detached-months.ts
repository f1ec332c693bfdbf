import type { MutationsByFile } from './mutation.js';

const DETACHED = 'apps/billing/src/months/detached-months.integration.test.ts';
const NEVER_AGAIN = 'its id is never held or charged again';
const FUNCTIONS = 'prisma/migrations/20261128143000_billing/migration.sql';

/** Mutations of what a detached month leaves: its bound, its sums and its digests. */
export const MUTATIONS_OF_DETACHED_MONTHS: MutationsByFile = {
  'apps/billing/src/ledger/scope.ts': [
    [
      'a full check starts from the sums of detached months',
      'topup_change AS topup_closing, 0::numeric AS refundable',
      '0::numeric AS topup_closing, 0::numeric AS refundable',
      DETACHED,
      'both checks, balances and rollups are as before',
    ],
  ],

  'apps/billing/src/journal/detached-months.ts': [
    ['the audit journal has what is kept', " AND a.after = to_jsonb(d) - 'detached_at'", '', DETACHED, 'checks find another digest'],
  ],
  [FUNCTIONS]: [
    [
      'rows that were added meanwhile are seen',
      'IF found_now <> added THEN',
      'IF false THEN',
      DETACHED,
      'when rows are added while it is summed up',
    ],
    ['the database refuses detached ids', 'PERFORM billing.refuse_ids(of.ids_below);', '', DETACHED, 'the database refuses its ids'],
    [
      'a cached batch asks for detached ids',
      'FROM billing.detached_month WHERE ids_below > lowest',
      'FROM billing.detached_month WHERE false',
      DETACHED,
      NEVER_AGAIN,
    ],
    [
      'changed rows are not attached',
      'IF sealed IS DISTINCT FROM',
      'IF sealed IS NULL AND sealed IS DISTINCT FROM',
      DETACHED,
      'is not attached when a row or table was changed',
    ],
  ],
};
