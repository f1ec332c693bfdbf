import type { MutationsByFile } from './mutation.js';

const FOLD = 'apps/billing/src/holds/fold-batch.test.ts';
const CACHED = 'apps/billing/src/holds/apply-cached.integration.test.ts';
const BUDGETS = 'apps/billing/src/budgets/budgets.integration.test.ts';
const TOKENS = 'apps/billing/src/budgets/token-budgets.integration.test.ts';
const ROOTS = 'apps/billing/src/keys/key-roots.integration.test.ts';
const WINDOWS = 'apps/billing/src/budgets/begin-due-windows.integration.test.ts';
const VALUES = 'apps/billing/src/budgets/budget-values.integration.test.ts';

/** Mutations of budgets: decisions, windows, counts. */
export const MUTATIONS_OF_BUDGETS: MutationsByFile = {
  'apps/billing/src/keys/keys.ts': [
    ['a new key has the root of the old one', 'rootKeyId: rootOf(row), createdBy', 'createdBy', ROOTS, 'both count in it'],
  ],
  'apps/billing/src/keys/key-roots.ts': [
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
  'apps/billing/src/holds/write-rows.ts': [
    ['a hold keeps the most tokens that it can use', 'reserve.amountTokens ?? null', 'null', TOKENS, 'that is set later counts the tokens'],
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
  'apps/billing/src/budgets/budget.ts': [
    ['a reserve counts in the budgets of its root', 'key?.rootKeyId ?? keyId', 'keyId', FOLD, 'the fold equals the serial model'],
    [
      'a hold fits in every budget',
      'amountIn(use.budget, amounts) > leftOf(use)',
      'amountIn(use.budget, amounts) < 0n',
      BUDGETS,
      'never exceed it',
    ],
    ['what is held counts', 'limit - spent - held;', 'limit - spent;', BUDGETS, 'never exceed it'],
    [
      'a hold counts in its own window',
      '.filter(({ budget }) => budget.windowStart <= hold.createdAt)',
      '',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'a budget of one user counts no other',
      '(budget.value ?? value) === value',
      'budget.value !== null',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'a budget of all requests is named first',
      'ofAll.length > 0 ? ofAll : exceeded',
      'exceeded',
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
      'what was used counts in tokens',
      'const spent: Amounts = { usd: cost, tokens: tokensOf(usage) }',
      'const spent: Amounts = { usd: cost, tokens: 0 }',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'late tokens are the difference',
      'tokens: tokensOf(usage) - reaped.usedTokens',
      'tokens: tokensOf(usage)',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'late, and not in a window that is over',
      '(use.budget.windowStart <= reaped.createdAt ? leftOf(use) : 0n)',
      'leftOf(use)',
      BUDGETS,
      'after the reset charges nothing more',
    ],
  ],
  'apps/billing/src/holds/batch-draft.ts': [
    ['a reserve has the limit of its user', 'if (holds) change.limit = budget.limit;', '', VALUES, 'never exceed the budget of any'],
  ],
  'apps/billing/src/holds/apply-cached.ts': [
    [
      'a batch has the part that it needs',
      'isIn: ({ budgets }) => budgets.length > 0',
      'isIn: () => false',
      CACHED,
      'sees a changed budget',
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
    [
      'an account that fails holds up no other',
      'failure ??= new Error(`beginning',
      'throw new Error(`beginning',
      WINDOWS,
      'an account that fails holds up no other',
    ],
  ],
  'apps/billing/src/budgets/read-values.ts': [
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
