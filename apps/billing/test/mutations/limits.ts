import type { MutationsByFile } from './mutation.js';

const FOLD = 'apps/billing/src/holds/fold-batch.test.ts';
const CLOCK = 'apps/billing/src/holds/clock-set.integration.test.ts';
const CACHED = 'apps/billing/src/holds/apply-cached.integration.test.ts';
const LIMITS = 'apps/billing/src/limits/limits.integration.test.ts';
const MAXIMA = 'apps/billing/src/limits/maxima.integration.test.ts';
const OPERATOR = 'apps/billing/src/limits/operator-limits.integration.test.ts';
const MODEL = 'the fold equals the serial model';

/** Mutations of limits per minute and on concurrency. */
export const MUTATIONS_OF_LIMITS: MutationsByFile = {
  'apps/billing/src/limits/rate-limit.ts': [
    [
      'projects share the limits of their account',
      'return [...new Set([accountId, projectId, rootKeyId])];',
      'return [...new Set([projectId, rootKeyId])];',
      FOLD,
      MODEL,
    ],
  ],
  'apps/billing/src/limits/maxima.ts': [
    [
      'keys that are made at once count one after another',
      'SELECT pg_advisory_xact_lock(',
      'SELECT pg_try_advisory_xact_lock(',
      MAXIMA,
      'keys at once',
    ],
  ],
  'apps/billing/src/accounts/projects.ts': [
    ['projects that are made at once count one after another', 'await lockAccount(tx, accountId);', '', MAXIMA, 'projects at once'],
    [
      'what a customer adds shares the limits of the account',
      "level === 'customer' ? await boundAccount(tx, accountId, defaults) : []",
      '[]',
      OPERATOR,
      'share what the operator has allowed',
    ],
  ],
  'apps/billing/src/budgets/operator-budgets.ts': [
    [
      'a customer removes no budget of the operator',
      "if (row.set_by === 'operator' && level === 'customer') throw",
      'if (false) throw',
      OPERATOR,
      'a budget of the operator',
    ],
    [
      'a lowered budget keeps the limit of the operator',
      'row.operator_limit ?? row.limit;\n  return',
      'row.limit;\n  return',
      OPERATOR,
      'a budget of the operator',
    ],
  ],
  'apps/billing/src/limits/operator-limits.ts': [
    ['the operator has the last word', 'limit !== null && limit <= most', 'true', OPERATOR, 'no higher than the operator'],
  ],
  'apps/billing/src/limits/admission.ts': [
    ['a limit per minute', 'countOf(window) + count > limit);', 'countOf(window) + count > limit + 1);', FOLD, MODEL],
    ['a limit on concurrency', 'openHoldsOf(row) >= row.concurrencyMax', 'openHoldsOf(row) > row.concurrencyMax', FOLD, MODEL],
    ['the longest wait is named', 'other.waitSeconds > longest.waitSeconds', 'false', FOLD, MODEL],
    ['an admitted request counts', 'counter.window = addToWindow(counter.window, this.now, counter.count);', '', FOLD, MODEL],
    ['an open hold of a key counts', 'for (const row of this.limits) if (!isOfAccount(row)) row.openHolds += 1;', '', FOLD, MODEL],
    ['all open holds of an account count', 'isOfAccount(row) ? this.account.openHolds :', '', FOLD, MODEL],
    [
      'a window of the future is kept as of now',
      'for (const counter of ahead) store(counter, counter.window);',
      '',
      CLOCK,
      'set back by an hour: a project at its limit is refused for a minute, not for the hour',
    ],
  ],
  'apps/billing/src/limits/set-limits.ts': [
    [
      'open holds count at once',
      'projectId === null ? 0 : await countHolds(',
      'projectId === null ? 0 : 0 * await countHolds(',
      LIMITS,
      'open requests count towards a concurrency',
    ],
  ],
  'apps/billing/src/holds/decide-settles.ts': [
    ['a settlement corrects the tokens', 'tokensOf(usage) - hold.tokens', '0', FOLD, MODEL],
    [
      'a settlement corrects the tokens of a model',
      'storeOfModel(limit, pattern, { tokens',
      'storeOfModel({ ...limit }, pattern, { tokens',
      FOLD,
      MODEL,
    ],
    ['an ended hold counts no more', 'if (!isOfAccount(limit)) limit.openHolds = Math.max(0, limit.openHolds - 1);', '', FOLD, MODEL],
  ],
  'apps/billing/src/holds/write-rows.ts': [
    [
      'a hold keeps its tokens',
      '({ tokens }) => tokens ?? null',
      '() => null',
      CACHED,
      'an account with rate limits is decided from memory',
    ],
  ],
};
