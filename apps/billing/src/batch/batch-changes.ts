import type { BudgetState } from '../budgets/budget.js';
import type { RateLimitState } from '../limits/rate-limit.js';
import { assignmentsOf, type Change, type Columns, type Inputs, listNames, type RowsInput } from '../sql/statement.js';
import type { AccountState, BatchRows, ProjectState, Settlement } from './batch.js';
import { KEPT, KEPT_RARELY, OPENED, OPENED_RARELY, SETTLED, SETTLED_RARELY } from './hold-columns.js';

/** Rows of a batch, and its time. */
export interface WrittenBatch {
  rows: BatchRows;
  at: string;
}

/**
 * Ends and opens holds. A hold is deleted once and its settlement inserted once, from the deleted row: nothing else ends a hold. Each row is
 * found by its account too: see `read-state.ts`. `at` is the parameter of the batch's time. `hasRare`: with the columns that only some batches
 * have.
 */
export function changeHolds(inputs: Inputs<WrittenBatch>, at: string, hasRare: boolean): Change {
  const outcome = { ...SETTLED, ...(hasRare && SETTLED_RARELY) };
  const payer: Columns<Settlement> = { payer_id: ['uuid', (row) => row.accountId] };
  const settled = inputs.rows({ ...outcome, ...payer }, ({ rows }) => rows.settled);
  const opened = inputs.rows({ ...OPENED, ...(hasRare && OPENED_RARELY) }, ({ rows }) => rows.opened);
  const kept = [outcome, KEPT, KEPT_RARELY].map(listNames).join(', ');
  return {
    changes: `closed AS (
      DELETE FROM billing.hold h USING ${settled.as('s')}
      WHERE h.id = s.hold_id AND h.account_id = s.payer_id RETURNING h.*, s.*
    ), settled AS (
      INSERT INTO billing.settlement (${kept}, held, reserved_at, settled_at)
      SELECT ${kept}, amount, created_at, ${at}::timestamptz FROM closed RETURNING 1
    ), opened AS (
      INSERT INTO billing.hold (${opened.names}, created_at) SELECT *, ${at}::timestamptz FROM ${opened.as('o')}
    )`,
    demand: `billing.demand((SELECT count(*) FROM settled) = ${settled.count}, 'a hold to end was not there')`,
  };
}

const ACCOUNT: Columns<AccountState> = {
  topup: ['numeric', ({ funds }) => funds.topup],
  topup_held: ['numeric', ({ funds }) => funds.topupHeld],
  plan: ['numeric', ({ funds }) => funds.plan],
  plan_held: ['numeric', ({ funds }) => funds.planHeld],
  expired: ['numeric', ({ funds }) => funds.expired],
  grant_id: ['uuid', ({ funds }) => funds.grant?.id],
  open_holds: ['int4', (row) => row.openHolds],
};
const ACCOUNT_ID: Columns<AccountState> = { id: ['uuid', (row) => row.accountId] };
const ACCOUNT_VERSION: Columns<AccountState> = { version: ['xid', (row) => row.version] };

/** A batch can end a grant, never start one. `fromMemory`: only rows that are still as they were read. */
export function changeAccounts(inputs: Inputs<WrittenBatch>, fromMemory: boolean): Change {
  const accounts = inputs.rows({ ...ACCOUNT_ID, ...ACCOUNT, ...(fromMemory && ACCOUNT_VERSION) }, ({ rows }) => rows.accounts);
  return {
    changes: `changed_accounts AS (
      UPDATE billing.account a SET ${assignmentsOf(ACCOUNT)},
        grant_ends_at = CASE WHEN s.grant_id IS NULL THEN NULL ELSE a.grant_ends_at END
      FROM ${accounts.as('s')} WHERE a.id = s.id${fromMemory ? ' AND a.xmin = s.version' : ''} RETURNING 1
    )`,
    demand: `billing.demand((SELECT count(*) FROM changed_accounts) = ${accounts.count},
        ${fromMemory ? "'an account has changed'" : "'an account was not there'"})`,
  };
}

/**
 * Updates rows of `billing.<table>`, which are found by their id and their account (see `read-state.ts`) and must all be there. `fromMemory`:
 * only rows that are still as they were read.
 */
function changeRows(table: string, columns: Columns<never>, rows: RowsInput, fromMemory = false): Change {
  const what = table.replace('_', ' ');
  return {
    changes: `changed_${table}s AS (
      UPDATE billing.${table} t SET ${assignmentsOf(columns)}
      FROM ${rows.as('s')} WHERE t.id = s.id AND t.account_id = s.payer_id${fromMemory ? ' AND t.version = s.version' : ''} RETURNING 1
    )`,
    demand: `billing.demand((SELECT count(*) FROM changed_${table}s) = ${rows.count},
        'a ${what} ${fromMemory ? 'has changed' : 'was not there'}')`,
  };
}

/** Without the limits, which an operator may have changed. */
const PROJECT: Columns<ProjectState> = {
  open_holds: ['int4', (row) => row.openHolds],
  request_window: ['json', (row) => row.requestWindow],
};
const PROJECT_ID: Columns<ProjectState> = { id: ['uuid', (row) => row.projectId], payer_id: ['uuid', (row) => row.accountId] };
const PROJECT_VERSION: Columns<ProjectState> = { version: ['int8', (row) => row.version] };

export function changeProjects(inputs: Inputs<WrittenBatch>, fromMemory: boolean): Change {
  const projects = inputs.rows({ ...PROJECT_ID, ...PROJECT, ...(fromMemory && PROJECT_VERSION) }, ({ rows }) => rows.projects);
  return changeRows('project', PROJECT, projects, fromMemory);
}

const BUDGET: Columns<BudgetState> = { spent: ['numeric', (row) => row.spent], held: ['numeric', (row) => row.held] };
export const BUDGET_ID: Columns<BudgetState> = { id: ['uuid', (row) => row.budgetId], payer_id: ['uuid', (row) => row.accountId] };

/** A batch begins windows where it reads them (`readBudgets`). */
export function changeBudgets(inputs: Inputs<WrittenBatch>): Change {
  return changeRows(
    'budget',
    BUDGET,
    inputs.rows({ ...BUDGET_ID, ...BUDGET }, ({ rows }) => rows.budgets),
  );
}

const LIMIT: Columns<RateLimitState> = {
  open_holds: ['int4', (row) => row.openHolds],
  request_window: ['json', (row) => row.requestWindow],
  token_window: ['json', (row) => row.tokenWindow],
  model_windows: ['json', (row) => row.modelWindows ?? {}],
};
const LIMIT_ID: Columns<RateLimitState> = { id: ['uuid', (row) => row.targetId], payer_id: ['uuid', (row) => row.accountId] };

export function changeLimits(inputs: Inputs<WrittenBatch>): Change {
  return changeRows(
    'rate_limit',
    LIMIT,
    inputs.rows({ ...LIMIT_ID, ...LIMIT }, ({ rows }) => rows.limits),
  );
}
