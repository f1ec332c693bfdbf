import type { MutationsByFile } from './mutation.js';

const FOLD = 'apps/billing/src/holds/fold-batch.test.ts';
const CACHED = 'apps/billing/src/holds/apply-cached.integration.test.ts';
const BUDGETS = 'apps/billing/src/budgets/budgets.integration.test.ts';

/** Mutations of budgets: decisions, windows, counts. */
export const MUTATIONS_OF_BUDGETS: MutationsByFile = {
  'apps/billing/src/budgets/budget.ts': [
    ['a hold fits in every budget', 'if (amount > leftOf(budget) && ', 'if (amount < 0n && ', BUDGETS, 'never exceed it'],
    ['what is held counts', 'limit - spent - held;', 'limit - spent;', BUDGETS, 'never exceed it'],
    [
      'a hold counts in its own window',
      '.filter(({ windowStart }) => windowStart <= hold.createdAt)',
      '',
      FOLD,
      'the fold equals the serial model',
    ],
  ],
  'apps/billing/src/budgets/budgets.ts': [
    [
      'what was spent before a budget counts',
      'const spent = String(await countSpentSince(tx, counted, window, before));',
      "const spent = '0';",
      BUDGETS,
      'that is set later counts what was spent',
    ],
  ],
  'apps/billing/src/holds/account-cache.ts': [
    [
      'the end of a window takes the lock',
      'isWithin(budget, now, now + MOMENT_TOLERANCE_MS)',
      'isWithin(budget, now, now)',
      CACHED,
      'takes the lock near the end of a window',
    ],
  ],
  'apps/billing/src/holds/decide-settles.ts': [
    [
      'late, and not in a window that is over',
      '(budget.windowStart <= reaped.createdAt ? leftOf(budget) : 0n)',
      'leftOf(budget)',
      BUDGETS,
      'after the reset charges nothing more',
    ],
  ],
};
