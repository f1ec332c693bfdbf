import type { MutationsByFile } from './mutation.js';

const CACHED = 'apps/billing/src/batch/apply-cached.integration.test.ts';
const TOKENS = 'apps/billing/src/budgets/token-budgets.integration.test.ts';
const ROOTS = 'apps/billing/src/payer/key-roots.integration.test.ts';
const WINDOWS = 'apps/billing/src/budgets/begin-due-windows.integration.test.ts';
const VALUES = 'apps/billing/src/budgets/budget-values.integration.test.ts';

/** Mutations of budgets: windows and counts. */
export const MUTATIONS_OF_BUDGETS: MutationsByFile = {
  'apps/billing/src/payer/key-roots.ts': [
    [
      'what later keys have spent before a budget counts',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: source code
      'id = ${rootKeyId}::uuid OR root_key_id = ${rootKeyId}::uuid',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: source code
      'id = ${rootKeyId}::uuid',
      ROOTS,
      'set by the name of a later key',
    ],
  ],

  'apps/billing/src/budgets/count-spent.ts': [
    [
      'tokens of a budget that is set later',
      "unit === 'tokens' ? Prisma.sql`tokens` : COST",
      'COST',
      TOKENS,
      'that is set later counts the tokens',
    ],
  ],

  'apps/billing/src/batch/account-cache.ts': [
    [
      'the end of a window takes the lock',
      'isWithin(budget, now, now + MOMENT_TOLERANCE_MS)',
      'isWithin(budget, now, now)',
      CACHED,
      'takes the lock near the end of a window',
    ],
  ],

  'apps/billing/src/budgets/begin-due-windows.ts': [
    [
      'the lock on the account',
      'WHERE id = $1 FOR NO KEY UPDATE',
      'WHERE id = $1',
      WINDOWS,
      'what a request spends in the new window meanwhile stays',
    ],
  ],
  'apps/billing/src/batch/batch-changes.ts': [
    ['the statement checks each user', 'WHERE exceeds OR passes', 'WHERE passes', VALUES, 'never exceed the budget of any'],
    [
      'the statement stops at a threshold',
      'WHERE exceeds OR passes',
      'WHERE exceeds',
      VALUES,
      'tells each threshold once, over two replicas',
    ],
    ['the first of a user too', 'WHERE spent + held > limit_amount)', 'WHERE false)', VALUES, 'first request of a user'],
  ],
  'apps/billing/src/budgets/count-values.ts': [
    ['what users have spent before a budget counts', 'HAVING sum(spent) > 0', 'HAVING false', VALUES, 'counts what each user has spent'],
  ],
};
