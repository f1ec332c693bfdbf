import { readTraceId } from '#tracing/trace-context.js';
import type { BudgetState, ValueChange } from '../budgets/budget.js';
import { WINDOW_OF_VALUE } from '../budgets/read-budgets.js';
import type { RateLimitState } from '../limits/rate-limit.js';
import { assignmentsOf, type Change, type Columns, type Inputs, listNames, type RowsInput } from '../sql/statement.js';
import type { AccountState, BatchRows, LateSettlement, OpenedHold, ProjectState, Settlement } from './batch.js';
import { pickRules } from './price-rules.js';
import type { ServiceState } from './service-state.js';

/** Rows of a batch, and its time. */
export interface WrittenBatch {
  rows: BatchRows;
  at: string;
}

/** Columns of a hold that its settlement keeps. */
const KEPT: Columns<OpenedHold> = {
  account_id: ['uuid', ({ reserve }) => reserve.accountId],
  project_id: ['uuid', ({ reserve }) => reserve.projectId],
  key_id: ['uuid', ({ reserve }) => reserve.keyId],
  request_id: ['text', ({ reserve }) => reserve.requestId],
  model: ['text', ({ reserve }) => reserve.model],
  grant_id: ['uuid', (row) => row.grantId],
  price_version: ['int4', ({ reserve }) => reserve.price.version],
  input_price: ['int8', ({ reserve }) => reserve.price.inputPicoUsd],
  cached_input_price: ['int8', ({ reserve }) => reserve.price.cachedInputPicoUsd],
  output_price: ['int8', ({ reserve }) => reserve.price.outputPicoUsd],
  trace_id: ['uuid', ({ reserve: { traceparent } }) => (traceparent === undefined ? null : readTraceId({ traceparent }))],
  attribution: ['jsonb', ({ reserve: { attribution = {} } }) => unlessEmpty(attribution)],
};

/** Parts of a price that few models have. The settlement keeps them too. */
const KEPT_RARELY: Columns<OpenedHold> = {
  price_plan: ['text', ({ reserve }) => reserve.price.pricePlan],
  request_price: ['int8', ({ reserve }) => reserve.price.requestPicoUsd],
  image_price: ['int8', ({ reserve }) => reserve.price.imagePicoUsd],
  images: ['int4', ({ reserve: { price } }) => (price.imagePicoUsd === undefined ? null : (price.images ?? 0))],
  cache_write_price: ['int8', ({ reserve }) => reserve.price.cacheWritePicoUsd],
  cache_write_1h_price: ['int8', ({ reserve }) => reserve.price.cacheWrite1hPicoUsd],
  price_rules: ['jsonb', ({ reserve }) => pickRules(reserve.price)],
};

const OPENED: Columns<OpenedHold> = {
  id: ['uuid', ({ reserve }) => reserve.holdId],
  amount: ['int8', ({ reserve }) => reserve.amountPicoUsd],
  plan_part: ['int8', (row) => row.planPart],
  lease_until: ['timestamptz', (row) => new Date(row.leaseUntil).toISOString()],
  amount_tokens: ['int8', ({ reserve }) => reserve.amountTokens],
  ...KEPT,
};

/** A hold counts towards a limit of tokens, is for an item of a service, or its price has a rare part. */
const OPENED_RARELY: Columns<OpenedHold> = {
  tokens: ['int8', (row) => row.tokens],
  quantity_max: ['int4', ({ reserve }) => reserve.item?.quantityMax],
  ...KEPT_RARELY,
};

/** Counts of a settlement, and with a prefix of a meter reading. */
export const TOKENS: Columns<Pick<Settlement, 'usage'>> = {
  prompt_tokens: ['int4', ({ usage }) => usage.promptTokens],
  cached_tokens: ['int4', ({ usage }) => usage.cachedTokens],
  output_tokens: ['int4', ({ usage }) => usage.outputTokens],
  reasoning_tokens: ['int4', ({ usage }) => usage.reasoningTokens],
};

const USAGE: Columns<Pick<Settlement, 'usage' | 'metered'>> = {
  ...TOKENS,
  prompt_source: ['text', ({ usage, metered }) => (metered ? usage.promptSource : null)],
  output_source: ['text', ({ usage, metered }) => (metered ? usage.outputSource : null)],
};

const SETTLED: Columns<Settlement> = {
  hold_id: ['uuid', (row) => row.holdId],
  reason: ['text', (row) => row.reason],
  upstream: ['text', (row) => row.upstream],
  cost: ['int8', (row) => row.cost],
  over: ['numeric', (row) => row.over],
  plan_cost: ['int8', ({ charge }) => charge.planCost],
  live_grant_id: ['uuid', ({ charge }) => charge.liveGrantId],
  ended_cost: ['int8', ({ charge }) => charge.endedCost],
  forfeit: ['int8', ({ charge }) => charge.forfeit],
  topup_cost: ['int8', ({ charge }) => charge.topupCost],
  settled_by: ['text', (row) => row.settledBy],
  ...USAGE,
};

/** The upstream has written to a cache, the price has steps or tiers, or it is an item of a service. Null: it is not so. */
const SETTLED_RARELY: Columns<Pick<Settlement, 'usage' | 'step'>> = {
  cache_write_tokens: ['int4', ({ usage }) => usage.cacheWriteTokens || null],
  cache_write_1h_tokens: ['int4', ({ usage }) => usage.cacheWrite1hTokens || null],
  tier: ['text', ({ usage }) => usage.tier],
  price_step: ['int4', ({ step }) => step],
  quantity: ['int4', ({ usage }) => usage.quantity],
};

export const SETTLED_LATE: Columns<LateSettlement> = {
  hold_id: ['uuid', ({ settle }) => settle.holdId],
  account_id: ['uuid', ({ hold }) => hold.accountId],
  reason: ['text', ({ settle }) => settle.reason],
  upstream: ['text', ({ settle }) => settle.upstream],
  held: ['int8', ({ hold }) => hold.amount],
  billed: ['int8', ({ hold }) => hold.billed],
  due: ['int8', (row) => row.due],
  over: ['numeric', (row) => row.over],
  plan_cost: ['int8', ({ charge }) => charge.planCost],
  live_grant_id: ['uuid', ({ charge }) => charge.liveGrantId],
  topup_cost: ['int8', ({ charge }) => charge.topupCost],
  writeoff: ['int8', ({ charge }) => charge.writeoff],
  forfeit: ['int8', ({ charge }) => charge.forfeit],
  settled_by: ['text', ({ settle }) => settle.settledBy],
  ...USAGE,
  ...SETTLED_RARELY,
};

/**
 * Ends holds. A hold is deleted once and its settlement inserted once, from the deleted row: nothing else ends a hold. Each row is found by
 * its account too: see `read-state.ts`. `at` is the parameter of the batch's time. `hasRare`: with the columns that only some batches have.
 */
export function endHolds(inputs: Inputs<WrittenBatch>, at: string, hasRare: boolean): Change {
  const outcome = { ...SETTLED, ...(hasRare && SETTLED_RARELY) };
  const payer: Columns<Settlement> = { payer_id: ['uuid', (row) => row.accountId] };
  const settled = inputs.rows({ ...outcome, ...payer }, ({ rows }) => rows.settled);
  const kept = [outcome, KEPT, KEPT_RARELY].map(listNames).join(', ');
  return {
    changes: `closed AS (
      DELETE FROM billing.hold h USING ${settled.as('s')}
      WHERE h.id = s.hold_id AND h.account_id = s.payer_id RETURNING h.*, s.*
    ), settled AS (
      INSERT INTO billing.settlement (${kept}, held, reserved_at, settled_at)
      SELECT ${kept}, amount, created_at, ${at}::timestamptz FROM closed RETURNING 1
    )`,
    demand: `billing.demand((SELECT count(*) FROM settled) = ${settled.count}, 'a hold to end was not there')`,
  };
}

/** Opens holds. `at` and `hasRare` as for `endHolds`. */
export function openHolds(inputs: Inputs<WrittenBatch>, at: string, hasRare: boolean): string {
  const opened = inputs.rows({ ...OPENED, ...(hasRare && OPENED_RARELY) }, ({ rows }) => rows.opened);
  return `opened AS (INSERT INTO billing.hold (${opened.names}, created_at) SELECT *, ${at}::timestamptz FROM ${opened.as('o')})`;
}

/** True when a row has a value in one of the columns that only some batches have. Other batches need fewer parameters. */
export function hasRareColumns({ opened, settled }: Pick<BatchRows, 'opened' | 'settled'>): boolean {
  return opened.some(hasOneOf(OPENED_RARELY)) || settled.some(hasOneOf(SETTLED_RARELY));
}

function hasOneOf<Row>(columns: Columns<Row>): (row: Row) => boolean {
  const all = Object.values(columns);
  return (row) => all.some(([, read]) => (read(row) ?? null) !== null);
}

function unlessEmpty(attribution: object): object | null {
  for (const _ in attribution) return attribution;
  return null;
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

const SERVICE: Columns<ServiceState> = {
  day: ['timestamptz', (row) => new Date(row.day).toISOString()],
  spent: ['numeric', (row) => row.spent],
  held: ['numeric', (row) => row.held],
  open_holds: ['int4', (row) => row.openHolds],
  day_max: ['numeric', (row) => row.dayMax],
  open_holds_max: ['int4', (row) => row.openHoldsMax],
};

/** Batches that read the rows have locked them. */
export function changeServices(inputs: Inputs<WrittenBatch>): Change {
  const services = inputs.rows({ service: ['text', (row: ServiceState) => row.service], ...SERVICE }, ({ rows }) => rows.services);
  return {
    changes: `changed_services AS (
      UPDATE billing.service_use u SET ${assignmentsOf(SERVICE)} FROM ${services.as('s')} WHERE u.service = s.service RETURNING 1
    )`,
    demand: `billing.demand((SELECT count(*) FROM changed_services) = ${services.count}, 'a service was not there')`,
  };
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

const VALUE_CHANGE: Columns<ValueChange> = {
  ...WINDOW_OF_VALUE,
  spent: ['numeric', (row) => row.spent],
  held: ['numeric', (row) => row.held],
  limit_amount: ['numeric', (row) => row.limit],
  own_limit: ['numeric', (row) => row.ownLimit],
  next_threshold: ['numeric', (row) => row.nextThreshold],
};

/**
 * Adds to the rows of users, sessions and tags; a value that has none gets one. Under the lock of the account, or in a statement that fails
 * when the account has changed, no one else adds a row meanwhile.
 *
 * Fails when a reserve exceeds the budget of its user, session or tag, or a settlement passes a threshold of which the batch has no event. What one
 * batch adds to a value is within its limit if the sum is. A settlement adds to a row that its reserve has made.
 */
export function changeValues(inputs: Inputs<WrittenBatch>): Change {
  return {
    changes: `value_changes AS (
      SELECT * FROM ${inputs.rows(VALUE_CHANGE, ({ rows }) => rows.values).as('c')}
    ), changed_values AS (
      UPDATE billing.budget_value v SET spent = greatest(v.spent + c.spent, 0), held = greatest(v.held + c.held, 0),
        own_limit = least(v.own_limit, c.own_limit)
      FROM value_changes c
      WHERE v.budget_id = c.budget_id AND v.window_end = c.window_end AND v.value = c.value AND v.account_id = c.payer_id
      RETURNING v.budget_id, v.value, v.spent >= c.next_threshold AS passes,
        c.limit_amount IS NOT NULL AND v.spent + v.held > least(c.limit_amount, v.own_limit) AS exceeds
    ), added_values AS (
      INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held, own_limit)
      SELECT budget_id, payer_id, window_end, value, greatest(spent, 0), greatest(held, 0), own_limit FROM value_changes c
      WHERE NOT EXISTS (SELECT FROM changed_values k WHERE k.budget_id = c.budget_id AND k.value = c.value) RETURNING 1
    )`,
    demand: `billing.demand(NOT EXISTS (SELECT FROM changed_values WHERE exceeds OR passes)
        AND NOT EXISTS (SELECT FROM value_changes WHERE spent + held > least(limit_amount, own_limit)),
        'a budget with a dimension is exceeded, or passes a threshold')`,
  };
}
