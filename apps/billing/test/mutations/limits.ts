import type { MutationsByFile } from './mutation.js';

const FOLD = 'apps/billing/src/holds/fold-batch.test.ts';
const CLOCK = 'apps/billing/src/holds/clock-set.integration.test.ts';
const CACHED = 'apps/billing/src/holds/apply-cached.integration.test.ts';
const LIMITS = 'apps/billing/src/limits/limits.integration.test.ts';
const MODEL = 'the fold equals the serial model';

/** Mutations of limits per minute and on concurrency. */
export const MUTATIONS_OF_LIMITS: MutationsByFile = {
  'apps/billing/src/limits/admission.ts': [
    ['a limit per minute', 'countOf(window) + count > limit);', 'countOf(window) + count > limit + 1);', FOLD, MODEL],
    ['a limit on concurrency', 'openHolds >= concurrencyMax', 'openHolds > concurrencyMax', FOLD, MODEL],
    ['the longest wait is named', 'other.waitSeconds > longest.waitSeconds', 'false', FOLD, MODEL],
    ['an admitted request counts', 'counter.window = addToWindow(counter.window, this.now, counter.count);', '', FOLD, MODEL],
    ['an open hold of a key counts', 'for (const row of this.limits) row.openHolds += 1;', '', FOLD, MODEL],
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
      'const openHolds = await',
      'const openHolds = 0 * await',
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
    ['an ended hold counts no more', 'limit.openHolds = Math.max(0, limit.openHolds - 1);', '', FOLD, MODEL],
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
