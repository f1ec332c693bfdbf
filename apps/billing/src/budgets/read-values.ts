import type { PgConnection } from '#database/pg-connection.js';
import type { Payer } from '../payer/payer.js';
import { type Change, type Columns, type Inputs, statement } from '../sql/statement.js';
import { type Budgets, findBudgets, renderMoment } from './budget.js';
import { type ValueChange, type ValueCount, valueKey } from './budget-values.js';

type WindowOfValue = Pick<ValueChange, 'budgetId' | 'accountId' | 'value' | 'windowEnd'>;

const WINDOW_OF_VALUE: Columns<WindowOfValue> = {
  budget_id: ['uuid', (row) => row.budgetId],
  payer_id: ['uuid', (row) => row.accountId],
  value: ['text', (row) => row.value],
  window_end: ['timestamptz', ({ windowEnd }) => renderMoment(windowEnd) ?? 'infinity'],
};

const READ_VALUES = statement<WindowOfValue[], { budgetId: string; value: string; spent: string; held: string }>(
  'read_budget_values',
  (inputs) => `SELECT v.budget_id AS "budgetId", v.value, v.spent::text, v.held::text
    FROM ${inputs.rows(WINDOW_OF_VALUE, (windows) => windows).as('w')},
      LATERAL (SELECT * FROM billing.budget_value
        WHERE budget_id = w.budget_id AND window_end = w.window_end AND value = w.value AND account_id = w.payer_id LIMIT 1) AS v`,
);

/** Reads what is counted for the users and tags of requests, in the transaction that has locked the accounts. */
export async function readValues(connection: PgConnection, budgets: Budgets, requests: Iterable<Payer>): Promise<Map<string, ValueCount>> {
  const wanted = new Map<string, WindowOfValue>();
  for (const payer of requests)
    for (const { budget, value } of findBudgets(budgets, payer)) {
      const { budgetId, accountId, windowEnd } = budget;
      if (value !== undefined) wanted.set(valueKey(budget, value), { budgetId, accountId, value, windowEnd });
    }
  if (wanted.size === 0) return new Map();
  const { rows } = await READ_VALUES.execute(connection, [...wanted.values()]);
  return new Map(rows.map((row) => [valueKey(row, row.value), { spent: BigInt(row.spent), held: BigInt(row.held) }]));
}

const VALUE_CHANGE: Columns<ValueChange> = {
  ...WINDOW_OF_VALUE,
  spent: ['numeric', (row) => row.spent],
  held: ['numeric', (row) => row.held],
  limit_amount: ['numeric', (row) => row.limit],
  next_threshold: ['numeric', (row) => row.nextThreshold],
};

/**
 * Adds to the rows of users and tags; a value that has none gets one. Under the lock of the account, or in a statement that fails when the
 * account has changed, no one else adds a row meanwhile.
 *
 * Fails when a reserve exceeds the budget of its user or tag, or a settlement passes a threshold of which the batch has no event. What one
 * batch adds to a value is within its limit if the sum is. A settlement adds to a row that its reserve has made.
 */
export function changeValues(inputs: Inputs<{ rows: { values: ValueChange[] } }>): Change {
  return {
    changes: `value_changes AS (
      SELECT * FROM ${inputs.rows(VALUE_CHANGE, ({ rows }) => rows.values).as('c')}
    ), changed_values AS (
      UPDATE billing.budget_value v SET spent = greatest(v.spent + c.spent, 0), held = greatest(v.held + c.held, 0) FROM value_changes c
      WHERE v.budget_id = c.budget_id AND v.window_end = c.window_end AND v.value = c.value AND v.account_id = c.payer_id
      RETURNING v.budget_id, v.value, v.spent + v.held > c.limit_amount AS exceeds, v.spent >= c.next_threshold AS passes
    ), added_values AS (
      INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
      SELECT budget_id, payer_id, window_end, value, greatest(spent, 0), greatest(held, 0) FROM value_changes c
      WHERE NOT EXISTS (SELECT FROM changed_values k WHERE k.budget_id = c.budget_id AND k.value = c.value) RETURNING 1
    )`,
    demand: `billing.demand(NOT EXISTS (SELECT FROM changed_values WHERE exceeds OR passes)
        AND NOT EXISTS (SELECT FROM value_changes WHERE spent + held > limit_amount),
        'a budget of a user or tag is exceeded, or passes a threshold')`,
  };
}
