import type { PgConnection } from '#database/pg-connection.js';
import { isWithin } from '../calendar/budget-window.js';
import { appliesToKey } from '../payer/key-roots.js';
import { listTargets, type Payer } from '../payer/payer.js';
import { type Columns, statement } from '../sql/statement.js';
import {
  type AccountBudgets,
  type BudgetRow,
  type BudgetState,
  type Budgets,
  budgetColumns,
  budgetState,
  budgetTarget,
  budgetWindowAt,
  findBudgets,
  renderMoment,
  type ValueChange,
  type ValueCount,
  valueKey,
} from './budget.js';

const READ_BUDGETS = statement<{ accountIds: readonly string[]; payers: readonly Payer[] }, BudgetRow>('read_budgets', (inputs) => {
  const accountIds = inputs.array('uuid', (asked) => asked.accountIds);
  const projectIds = inputs.array('uuid', (asked) => asked.payers.map((payer) => payer.projectId));
  const keyIds = inputs.array('uuid', (asked) => asked.payers.map((payer) => payer.rootKeyId));
  return `SELECT ${budgetColumns()}
    FROM unnest(${accountIds}) AS payer (id), LATERAL (SELECT * FROM billing.budget WHERE account_id = payer.id OFFSET 0) AS b
    WHERE (project_id IS NULL OR project_id = ANY (${projectIds})) AND (key_id IS NULL OR key_id = ANY (${keyIds}))
    ORDER BY period, unit, dimension COLLATE "C", value COLLATE "C" NULLS FIRST`;
});

/** Amount of a hold `h` in the unit of a budget `b`. */
const HELD_IN_UNIT = `CASE b.unit WHEN 'tokens' THEN coalesce(h.amount_tokens, 0) ELSE h.amount END`;

type Window = Pick<BudgetState, 'budgetId' | 'accountId' | 'windowStart' | 'windowEnd'>;

const WINDOW: Columns<Window> = {
  id: ['uuid', (row) => row.budgetId],
  payer_id: ['uuid', (row) => row.accountId],
  window_start: ['timestamptz', (row) => new Date(row.windowStart).toISOString()],
  window_end: ['timestamptz', (row) => renderMoment(row.windowEnd) ?? 'infinity'],
};

/**
 * Begins a new window. Its holds are counted: there are some when the database's clock was set back. Then the window begins earlier, and
 * keeps what was spent.
 */
const OPEN_WINDOWS = statement<Window[], Pick<BudgetRow, 'id' | 'spent' | 'held' | 'passed'>>(
  'open_budget_windows',
  (inputs) => `UPDATE billing.budget b SET window_start = w.window_start, window_end = w.window_end,
      spent = CASE WHEN w.window_start < b.window_start THEN b.spent ELSE 0 END,
      passed = CASE WHEN w.window_start < b.window_start THEN b.passed ELSE 0 END,
      held = (SELECT coalesce(sum(${HELD_IN_UNIT}), 0) FROM billing.hold h WHERE b.dimension IS NULL AND h.account_id = b.account_id
        AND h.project_id = coalesce(b.project_id, h.project_id) AND ${appliesToKey('h', 'b')} AND h.created_at >= w.window_start)
    FROM ${inputs.rows(WINDOW, (windows) => windows).as('w')}
    WHERE b.id = w.id AND b.account_id = w.payer_id RETURNING b.id, b.spent::text, b.held::text, b.passed`,
);

/** Adds to what users and tags hold the holds from the new start of a window that begins earlier to the old one. */
const COUNT_EARLIER_HOLDS = statement<Window[]>(
  'count_earlier_holds',
  (inputs) => `WITH earlier AS (
      SELECT b.id, b.account_id, b.window_end, h.attribution ->> b.dimension AS value, sum(${HELD_IN_UNIT}) AS held
      FROM ${inputs.rows(WINDOW, (windows) => windows).as('w')}
        JOIN billing.budget b ON b.id = w.id AND b.account_id = w.payer_id JOIN billing.hold h ON h.account_id = b.account_id
          AND h.project_id = coalesce(b.project_id, h.project_id) AND ${appliesToKey('h', 'b')}
          AND h.created_at >= w.window_start AND h.created_at < w.window_end AND h.attribution ->> b.dimension = coalesce(b.value, h.attribution ->> b.dimension)
      GROUP BY b.id, b.account_id, b.window_end, h.attribution ->> b.dimension
    ), changed AS (
      UPDATE billing.budget_value v SET held = v.held + e.held FROM earlier e
      WHERE v.budget_id = e.id AND v.window_end = e.window_end AND v.value = e.value AND v.account_id = e.account_id RETURNING v.budget_id, v.value
    )
    INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
    SELECT id, account_id, window_end, value, 0, held FROM earlier e
    WHERE NOT EXISTS (SELECT FROM changed c WHERE c.budget_id = e.id AND c.value = e.value)`,
);

/**
 * Reads the budgets that requests count in, by account, in the transaction that has locked the accounts. Each is in the window that contains
 * `now`: one whose window is over begins the next, in the database too.
 */
export async function readBudgets(
  connection: PgConnection,
  accountIds: readonly string[],
  requests: Iterable<Payer>,
  now: number,
): Promise<Map<string, AccountBudgets>> {
  const budgets = new Map(accountIds.map((accountId) => [accountId, new Map<string, BudgetState[]>()]));
  const payers = [...requests].filter(({ accountId }) => budgets.has(accountId));
  for (const payer of payers) for (const target of listTargets(payer)) budgets.get(payer.accountId)?.set(target, []);
  const { rows } = await READ_BUDGETS.execute(connection, { accountIds, payers });
  for (const budget of await inCurrentWindow(connection, rows.map(budgetState), now)) {
    budgets.get(budget.accountId)?.get(budgetTarget(budget))?.push(budget);
  }
  return budgets;
}

/** Begins the next window of each budget whose window is over. The transaction has locked the accounts. */
export async function inCurrentWindow(connection: PgConnection, budgets: BudgetState[], now: number): Promise<BudgetState[]> {
  const over = budgets.filter((budget) => !isWithin(budget, now, now));
  if (over.length === 0) return budgets;
  const begun = over.map((budget) => ({ ...budget, ...nextWindow(budget, now) }));
  const { rows } = await OPEN_WINDOWS.execute(connection, begun);
  const earlier = begun.map((budget, position) => ({ ...budget, windowEnd: over[position]?.windowStart ?? budget.windowStart }));
  const moved = earlier.filter(({ dimension, windowStart, windowEnd }) => dimension !== undefined && windowStart < windowEnd);
  if (moved.length > 0) await COUNT_EARLIER_HOLDS.execute(connection, moved);
  const windows = new Map(begun.map((budget) => [budget.budgetId, budget]));
  const current = new Map(
    rows.map(({ id, spent, held, passed }) => [id, { ...windows.get(id), spent: BigInt(spent), held: BigInt(held), passed }]),
  );
  return budgets.map((budget) => ({ ...budget, ...current.get(budget.budgetId) }));
}

/** Returns the window that contains `now`. Before the current one, when the clock was set back, the current one begins earlier. */
function nextWindow(budget: BudgetState, now: number): Pick<BudgetState, 'windowStart' | 'windowEnd'> {
  return now < budget.windowStart ? { windowStart: now, windowEnd: budget.windowEnd } : budgetWindowAt(budget, now);
}

type WindowOfValue = Pick<ValueChange, 'budgetId' | 'accountId' | 'value' | 'windowEnd'>;

export const WINDOW_OF_VALUE: Columns<WindowOfValue> = {
  budget_id: ['uuid', (row) => row.budgetId],
  payer_id: ['uuid', (row) => row.accountId],
  value: ['text', (row) => row.value],
  window_end: ['timestamptz', ({ windowEnd }) => renderMoment(windowEnd) ?? 'infinity'],
};

const READ_VALUES = statement<WindowOfValue[], { budgetId: string; value: string; spent: string; held: string; ownLimit: string | null }>(
  'read_budget_values',
  (inputs) => `SELECT v.budget_id AS "budgetId", v.value, v.spent::text, v.held::text, v.own_limit::text AS "ownLimit"
    FROM ${inputs.rows(WINDOW_OF_VALUE, (windows) => windows).as('w')},
      LATERAL (SELECT * FROM billing.budget_value
        WHERE budget_id = w.budget_id AND window_end = w.window_end AND value = w.value AND account_id = w.payer_id LIMIT 1) AS v`,
);

/** Reads what is counted for the users and tags of requests, in the transaction that has locked the accounts. */
export async function readValues(connection: PgConnection, budgets: Budgets, requests: Iterable<Payer>): Promise<Map<string, ValueCount>> {
  const wanted = new Map<string, WindowOfValue>();
  for (const payer of requests)
    for (const { budget, value, windowEnd = budget.windowEnd } of findBudgets(budgets, payer)) {
      const { budgetId, accountId } = budget;
      if (value !== undefined) wanted.set(valueKey(budget, value), { budgetId, accountId, value, windowEnd });
    }
  if (wanted.size === 0) return new Map();
  const { rows } = await READ_VALUES.execute(connection, [...wanted.values()]);
  return new Map(
    rows.map((row) => {
      const ownLimit = row.ownLimit === null ? undefined : BigInt(row.ownLimit);
      return [valueKey(row, row.value), { spent: BigInt(row.spent), held: BigInt(row.held), ownLimit }];
    }),
  );
}
