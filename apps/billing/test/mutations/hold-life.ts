import type { MutationsByFile } from './mutation.js';

const FOLD = 'apps/billing/src/batch/fold-batch.ts';
const REPLAY = 'apps/billing/test/hold-model/replay.test.ts';
const TITLE = 'the fold does what random traces of the model do';

type Row = MutationsByFile[string][number];

const found = (name: string, from: string, to: string): Row => [name, from, to, REPLAY, TITLE];

/** Mistakes in the life of a hold that traces of spec/hold.qnt must find. */
export const MUTATIONS_OF_HOLD_LIFE: MutationsByFile = {
  [FOLD]: [
    found(
      'a settled hold is ended again',
      'if (draft.settlements.has(holdId)) {',
      'if (draft.settlements.has(holdId) && draft.reaped.has(holdId)) {',
    ),
    found('a release leaves no tombstone', 'draft.rows.tombstones.push(settle);', ''),
    found(
      'the reaper does not look at the lease',
      "if (byReaper && hold.leaseUntil + times.reaperGraceMs >= draft.now) return 'unknown';",
      '',
    ),
    found('the reaper bills nothing', "settle.reason === 'lease-expired' ? hold.meter : settle.usage", 'settle.usage'),
    found('a budget is not given back', 'countInBudgets(draft, budgets, account, { held });', ''),
    found('a budget does not count what was spent', 'countInBudgets(draft, budgets, account, { spent });', ''),
    found('a late settlement charges the whole cost again', 'const due = cost - reaped.billed;', 'const due = cost;'),
    found('a repeated reserve holds again', 'if (open) {', 'if (open && open.amount < 0n) {'),
    found(
      'a reserve after its settlement holds money',
      'if (draft.settlements.has(holdId) || draft.detached.has(holdId)) return',
      'if (draft.detached.has(holdId)) return',
    ),
    found(
      'the balance is not asked',
      'if (amount > available || amount > HOLD_MAX) return refusal;',
      'if (amount > HOLD_MAX) return refusal;',
    ),
    found('budgets are not asked', 'const budget = exceededBudget(uses, amounts);', 'const budget = exceededBudget([], amounts);'),
  ],
  'apps/billing/src/balance/funds.ts': [found('the rest of a hold stays held', 'funds.topupHeld -= parts.topup;', '')],
  'apps/billing/src/batch/hold.ts': [
    found('a cost exceeds its hold', '{ cost: hold.amount, over: actual - hold.amount }', '{ cost: actual, over: 0n }'),
  ],
};
