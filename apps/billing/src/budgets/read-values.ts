import type { PgConnection } from '#database/pg-connection.js';
import type { Payer } from '../payer/payer.js';
import { execute, plainArray } from '../sql/pipelined-query.js';
import { type BudgetState, type Budgets, budgetsOf, renderMoment } from './budget.js';
import { nameOf, type ValueChange, type ValueCount } from './budget-values.js';

const READ_VALUES = {
  name: 'read_budget_values',
  text: `SELECT v.budget_id AS "budgetId", v.value, v.spent::text, v.held::text
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[]) AS w (budget_id, payer_id, value, window_end),
      LATERAL (SELECT * FROM billing.budget_value
        WHERE budget_id = w.budget_id AND window_end = w.window_end AND value = w.value AND account_id = w.payer_id LIMIT 1) AS v`,
};

/** Reads what is counted for the users and tags of requests, in the transaction that has locked the accounts. */
export async function readValues(connection: PgConnection, budgets: Budgets, requests: Iterable<Payer>): Promise<Map<string, ValueCount>> {
  const wanted = new Map<string, { budget: BudgetState; value: string }>();
  for (const payer of requests)
    for (const { budget, value } of budgetsOf(budgets, payer))
      if (value !== undefined) wanted.set(nameOf(budget, value), { budget, value });
  if (wanted.size === 0) return new Map();
  const { rows } = await execute<{ budgetId: string; value: string; spent: string; held: string }>(connection, READ_VALUES, [
    plainArray([...wanted.values()].map(({ budget }) => budget.budgetId)),
    plainArray([...wanted.values()].map(({ budget }) => budget.accountId)),
    [...wanted.values()].map(({ value }) => value),
    windowEnds([...wanted.values()].map(({ budget }) => budget)),
  ]);
  return new Map(rows.map((row) => [nameOf(row, row.value), { spent: BigInt(row.spent), held: BigInt(row.held) }]));
}

/**
 * Returns the common table expressions that add to the rows of users and tags; a value that has none gets one. `from` is the number of the
 * first parameter of `valueColumns`. Under the lock of the account, or in a statement that fails when the account has changed, nobody else
 * adds a row meanwhile.
 */
export function changeValues(from: number): string {
  const parameter = (position: number): string => `$${from + position}`;
  return `value_changes AS (
      SELECT * FROM unnest(${parameter(0)}::uuid[], ${parameter(1)}::uuid[], ${parameter(2)}::text[], ${parameter(3)}::timestamptz[],
          ${parameter(4)}::numeric[], ${parameter(5)}::numeric[], ${parameter(6)}::numeric[], ${parameter(7)}::numeric[])
        AS c (budget_id, payer_id, value, window_end, spent, held, limit_amount, next_threshold)
    ), changed_values AS (
      UPDATE billing.budget_value v SET spent = greatest(v.spent + c.spent, 0), held = greatest(v.held + c.held, 0) FROM value_changes c
      WHERE v.budget_id = c.budget_id AND v.window_end = c.window_end AND v.value = c.value AND v.account_id = c.payer_id
      RETURNING v.budget_id, v.value, v.spent + v.held > c.limit_amount AS exceeds, v.spent >= c.next_threshold AS passes
    ), added_values AS (
      INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
      SELECT budget_id, payer_id, window_end, value, greatest(spent, 0), greatest(held, 0) FROM value_changes c
      WHERE NOT EXISTS (SELECT FROM changed_values k WHERE k.budget_id = c.budget_id AND k.value = c.value) RETURNING 1
    )`;
}

/**
 * Fails when a reserve exceeds the budget of its user or tag, or a settlement passes a threshold of which the batch has no event. What one
 * batch adds to a value is within its limit if the sum is. A settlement adds to a row that its reserve has made.
 */
export const DEMAND_VALUES = `billing.demand(NOT EXISTS (SELECT FROM changed_values WHERE exceeds OR passes)
        AND NOT EXISTS (SELECT FROM value_changes WHERE spent + held > limit_amount),
        'a budget of a user or tag is exceeded, or passes a threshold')`;

export function valueColumns(values: readonly ValueChange[]): unknown[] {
  return [
    plainArray(values.map(({ budgetId }) => budgetId)),
    plainArray(values.map(({ accountId }) => accountId)),
    values.map(({ value }) => value),
    windowEnds(values),
    plainArray(values.map(({ spent }) => spent)),
    plainArray(values.map(({ held }) => held)),
    plainArray(values.map(({ limit }) => limit)),
    plainArray(values.map((change) => change.nextThreshold)),
  ];
}

function windowEnds(windows: readonly { windowEnd: number }[]): string {
  return plainArray(windows.map(({ windowEnd }) => renderMoment(windowEnd) ?? 'infinity'));
}
