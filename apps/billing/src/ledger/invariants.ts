import { auditChainFaults } from '#database/audit-chain.js';
import { BUDGET_COSTS } from '../budgets/count-spent.js';
import { accountEntries, grantEntries } from '../journal/journal-entries.js';
import { moment, selectRows } from '../journal/journal-rows.js';
import { appliesToKey } from '../payer/key-roots.js';
import { DIMENSIONS, MEASURES, USAGE_ENTRIES } from '../usage/usage-entries.js';
import type { Scope } from './scope.js';
import { usageCost } from './usage-cost.js';

/** An invariant of the ledger, as the query that finds its violations: rows of `subject` and `account_id`. */
export interface Invariant {
  id: string;
  rule: string;
  /** True when a violation freezes its account: money, or a counter that admits requests, is wrong. */
  freezesAccount: boolean;
  /** True when it reads rows before a checkpoint: a check that starts from one leaves it out. None is about money. */
  needsWholeMonth?: true;
  sql: (scope: Scope) => string;
}

/** True for the rows `x` that a budget `b` counts, at any time. */
const OF_BUDGET = `x.account_id = b.account_id AND x.project_id = coalesce(b.project_id, x.project_id)
            AND ${appliesToKey('x', 'b')}`;

/** Amount of a row `x` of the journals in the unit of a budget `b`, and of a row of `billing.hold`. */
const SPENT_IN_UNIT = `CASE b.unit WHEN 'tokens' THEN x.tokens ELSE x.cost END`;
const HELD_IN_UNIT = `CASE b.unit WHEN 'tokens' THEN coalesce(x.amount_tokens, 0) ELSE x.amount END`;

/** Values of a row `x` that a budget `b` with a dimension counts: one, or each child key of a chain. */
const VALUES = `unnest(CASE b.dimension WHEN 'child' THEN ARRAY(
              SELECT array_to_string((string_to_array(x.attribution ->> 'child', '.'))[1:n], '.')
              FROM generate_series(1, cardinality(string_to_array(x.attribution ->> 'child', '.'))) n)
              ELSE ARRAY[x.attribution ->> b.dimension] END)`;

/** End of the child key `value`. Sums of ended ones are swept. */
const CHILD_END = `to_timestamp(substring(value FROM '(\\d+)-[0-9a-f]+$')::float8)`;

const ROLLUP_COLUMNS = [...DIMENSIONS, ...MEASURES].join(', ');

/** Selects the groups of a rollup whose sums differ from those of `rows`: both are added up, one of them with the opposite sign. */
function differing(unit: 'hour' | 'day', rows: string, scope: Scope): string {
  return `SELECT account_id FROM (${rows}
      UNION ALL SELECT ${unit}, last_at, -1, ${ROLLUP_COLUMNS} FROM billing.usage_${unit} WHERE ${since(unit, scope)}) both_sides
    GROUP BY start, ${DIMENSIONS.join(', ')} HAVING ${MEASURES.map((column) => `sum(sign * ${column}) <> 0`).join(' OR ')}
      OR max(last_at) FILTER (WHERE sign = 1) IS DISTINCT FROM max(last_at) FILTER (WHERE sign = -1)`;
}

/** Condition on a time whose rollups are compared. Rollups have the rows of a clock that was set back at their own time. */
function since(column: string, { rollupsFrom }: Scope): string {
  return Number.isFinite(rollupsFrom) ? `${column} >= ${moment(rollupsFrom)}` : 'true';
}

/**
 * Each query is one pass over the tables it sums: a subquery per account would read the journal once per account. Two sides that must be
 * equal are added up with opposite signs instead of joined: while the statistics of a table are older than its rows, Postgres takes it for
 * small and compares each row of one side with each of the other.
 */
export const INVARIANTS: readonly Invariant[] = [
  {
    id: 'I1',
    rule: 'held money is the sum of the open holds',
    freezesAccount: true,
    sql: () => `SELECT account_id AS subject, account_id FROM (
        SELECT id AS account_id, topup_held, plan_held, expired, open_holds FROM billing.account
        UNION ALL SELECT a.id, h.plan_part - h.amount, CASE WHEN h.grant_id = a.grant_id THEN -h.plan_part ELSE 0 END,
          CASE WHEN h.grant_id = a.grant_id THEN 0 ELSE -h.plan_part END, -1
        FROM billing.hold h JOIN billing.account a ON a.id = h.account_id) both_sides
      GROUP BY account_id HAVING sum(topup_held) <> 0 OR sum(plan_held) <> 0 OR sum(expired) <> 0 OR sum(open_holds) <> 0`,
  },
  {
    id: 'I2',
    rule: 'top-up money is top-ups less refunds and charges',
    freezesAccount: true,
    sql: (scope) => `SELECT account_id AS subject, account_id FROM (
        SELECT id AS account_id, topup FROM billing.account
        UNION ALL SELECT account_id, -topup_closing FROM ${scope.opening.accounts} o
        UNION ALL SELECT account_id, -topup_change FROM ${accountEntries(scope.range)} e) both_sides GROUP BY account_id HAVING sum(topup) <> 0`,
  },
  {
    id: 'I3',
    rule: 'a grant is the sum of its charges, its forfeits and what is left',
    freezesAccount: true,
    sql: (scope) => `SELECT g.grant_id AS subject, g.account_id FROM (
        SELECT grant_id, account_id, sum(amount) AS amount, sum(gone) AS gone FROM (
          SELECT grant_id, account_id, amount, gone FROM ${scope.opening.grants} o
          UNION ALL SELECT grant_id, account_id, amount, gone FROM ${grantEntries(scope.range)} e) entries GROUP BY grant_id, account_id) g
      JOIN billing.account a ON a.id = g.account_id
      LEFT JOIN (SELECT grant_id, sum(plan_part) AS held FROM billing.hold GROUP BY grant_id) h ON h.grant_id = g.grant_id
      WHERE g.amount <> g.gone + CASE WHEN a.grant_id = g.grant_id THEN a.plan ELSE coalesce(h.held, 0) END`,
  },
  {
    id: 'I4',
    rule: 'no hold is both open and settled',
    freezesAccount: true,
    sql: () => `SELECT h.id AS subject, h.account_id FROM billing.hold h JOIN billing.settlement s ON s.hold_id = h.id`,
  },
  {
    id: 'I5',
    rule: "a project's counter is the number of its open holds",
    freezesAccount: true,
    sql: () => `SELECT project_id AS subject, account_id FROM (
        SELECT id AS project_id, account_id, open_holds FROM billing.project
        UNION ALL SELECT project_id, account_id, -1 FROM billing.hold) both_sides
      GROUP BY project_id, account_id HAVING sum(open_holds) <> 0`,
  },
  {
    id: 'I6',
    rule: 'no money appears or vanishes',
    freezesAccount: true,
    // A sum over all accounts: reported, freezes none.
    sql: (scope) => `SELECT 'all accounts' AS subject, NULL AS account_id
      WHERE (SELECT coalesce(sum(topup + plan + expired), 0) FROM billing.account)
        <> (SELECT coalesce(sum(closing), 0) FROM ${scope.opening.accounts} o)
        + (SELECT coalesce(sum(change), 0) FROM ${accountEntries(scope.range)} e)`,
  },
  {
    id: 'I7',
    rule: 'no hold is open long after its lease',
    freezesAccount: false,
    sql: () => `SELECT h.id AS subject, h.account_id FROM billing.hold h WHERE h.lease_until < now() - $1 * interval '1 millisecond'`,
  },
  {
    id: 'I8',
    rule: 'a request window has positive counts in ascending time',
    freezesAccount: false,
    sql: () => `SELECT p.id AS subject, p.account_id FROM billing.project p CROSS JOIN LATERAL (
        SELECT (e.value ->> 1)::int AS requests, (e.value ->> 0)::float8 AS at, lag((e.value ->> 0)::float8) OVER (ORDER BY e.position) AS before
        FROM json_array_elements(p.request_window) WITH ORDINALITY e (value, position)) w
      GROUP BY p.id HAVING NOT bool_and(w.requests > 0 AND (w.before IS NULL OR w.before <= w.at))`,
  },
  {
    id: 'I9',
    // A null `forfeit` was written by a release whose late settlements gave nothing back.
    rule: 'cost plus excess is usage times the price of the hold',
    freezesAccount: true,
    sql: ({ range }) => `SELECT s.hold_id AS subject, s.account_id FROM ${selectRows('settlement', range)} s
      WHERE s.project_id IS NOT NULL AND s.cost + s.over IS DISTINCT FROM ${usageCost('s')}
      UNION
      SELECT l.hold_id, l.account_id FROM ${selectRows('late_settlement', range)} l JOIN billing.settlement s ON s.hold_id = l.hold_id
      WHERE s.project_id IS NOT NULL AND l.billed + l.due + l.over <> greatest(CASE WHEN l.forfeit IS NULL THEN l.billed END, ${usageCost('l')})`,
  },
  {
    id: 'I10',
    rule: 'only a reaped hold is settled late, and it gives back no more plan or top-up money than it took',
    freezesAccount: true,
    sql: ({
      range,
    }) => `SELECT l.hold_id AS subject, l.account_id FROM ${selectRows('late_settlement', range)} l LEFT JOIN billing.settlement s ON s.hold_id = l.hold_id
      WHERE (s.reason = 'lease-expired' AND s.account_id = l.account_id AND s.held = l.held AND s.cost = l.billed
        AND s.topup_cost + l.topup_cost >= 0 AND s.plan_cost + l.plan_cost >= 0
        AND (l.plan_cost >= 0 OR s.live_grant_id = l.live_grant_id)) IS NOT TRUE`,
  },
  {
    id: 'I11',
    rule: 'refunds of a top-up do not exceed it',
    freezesAccount: true,
    sql: (scope) => `SELECT account_id AS subject, account_id FROM (
          SELECT account_id, refundable FROM ${scope.opening.accounts} o
          UNION ALL
          SELECT account_id, CASE kind WHEN 'topup' THEN amount ELSE -amount END FROM ${selectRows('movement', scope.range)} m
          WHERE kind IN ('topup', 'refund')) entries GROUP BY account_id HAVING sum(refundable) < 0
      UNION ALL
      SELECT t.id, t.account_id FROM billing.movement r JOIN billing.movement t ON t.id = r.refund_of
        WHERE r.refund_of IN (SELECT refund_of FROM ${selectRows('movement', scope.range)} m) GROUP BY t.id
        HAVING sum(r.amount) > t.amount OR t.kind <> 'topup' OR bool_or(r.account_id <> t.account_id)`,
  },
  {
    id: 'I12',
    rule: 'the rollups of usage are the sums of the journal',
    freezesAccount: false,
    needsWholeMonth: true,
    sql: (scope) => `SELECT DISTINCT account_id AS subject, account_id FROM (
        ${differing(
          'hour',
          `SELECT date_trunc('hour', at, 'UTC') AS start, at AS last_at, 1 AS sign, ${ROLLUP_COLUMNS} FROM ${USAGE_ENTRIES} e
          WHERE transaction_id < (SELECT closed_to FROM billing.usage_state) AND ${since('at', scope)}`,
          scope,
        )}
        UNION ALL
        ${differing('day', `SELECT date_trunc('day', hour, 'UTC') AS start, last_at, 1 AS sign, ${ROLLUP_COLUMNS} FROM billing.usage_hour WHERE ${since('hour', scope)}`, scope)}) d`,
  },
  {
    id: 'I13',
    rule: 'the audit journal is an unbroken chain: no row was changed, removed or inserted',
    freezesAccount: false,
    sql: () => auditChainFaults('billing'),
  },
  {
    id: 'I14',
    rule: 'a budget is what the requests of its window cost and hold',
    // Not money. A clock that was set back across the start of a window breaks it until the window ends.
    freezesAccount: false,
    needsWholeMonth: true,
    // Windows that are not over, so that each reads the end of the journal of its account. What is total comes from the rollups.
    sql: () => `SELECT b.id AS subject, b.account_id FROM billing.budget b WHERE b.dimension IS NULL AND b.window_end > now() AND (
        b.held <> (SELECT coalesce(sum(${HELD_IN_UNIT}), 0) FROM billing.hold x WHERE x.created_at >= b.window_start AND ${OF_BUDGET})
        OR b.spent <> CASE WHEN b.period = 'total'
          THEN (SELECT coalesce(sum(CASE b.unit WHEN 'tokens' THEN x.prompt_tokens + x.output_tokens ELSE x.cost END), 0)
              FROM billing.usage_day x WHERE ${OF_BUDGET})
            + (SELECT coalesce(sum(${SPENT_IN_UNIT}), 0) FROM ${BUDGET_COSTS} x
              WHERE x.transaction_id >= (SELECT closed_to FROM billing.usage_state) AND ${OF_BUDGET})
          ELSE (SELECT coalesce(sum(${SPENT_IN_UNIT}), 0) FROM ${BUDGET_COSTS} x
            WHERE x.settled_at >= b.window_start AND x.reserved_at >= b.window_start AND ${OF_BUDGET}) END)`,
  },
  {
    id: 'I16',
    rule: 'a rate limit counts the open holds of its key or project, none of an account, and its windows have positive counts in ascending time',
    freezesAccount: false,
    sql: () => `SELECT l.id AS subject, l.account_id FROM billing.rate_limit l
      WHERE l.open_holds <> (SELECT count(*) FROM billing.hold h
          WHERE h.account_id = l.account_id AND h.project_id = l.project_id AND ${appliesToKey('h', 'l')})
        OR EXISTS (SELECT FROM (SELECT l.request_window UNION ALL SELECT l.token_window
            UNION ALL SELECT w.value FROM json_each(l.model_windows) m, json_each(m.value) w) AS windows (entries), LATERAL (
            SELECT (e.value ->> 1)::float8 AS count, (e.value ->> 0)::float8 AS at,
              lag((e.value ->> 0)::float8) OVER (ORDER BY e.position) AS before
            FROM json_array_elements(entries) WITH ORDINALITY e (value, position)) w
          WHERE NOT (w.count > 0 AND coalesce(w.before <= w.at, true)))`,
  },
  {
    id: 'I17',
    rule: 'a budget of users, tags or child keys is what the requests of its window cost and hold for each of them',
    // Not money. A clock that was set back across the start of a window breaks it until the window ends.
    freezesAccount: false,
    needsWholeMonth: true,
    // A total that began before the closed month would read all that is closed.
    sql: ({
      range: { after },
    }) => `SELECT b.id AS subject, b.account_id FROM billing.budget b WHERE b.dimension IS NOT NULL AND b.window_end > now()
        AND (b.period <> 'total' OR ${after ? `b.window_start >= ${moment(after.at)}` : 'true'})
        AND EXISTS (SELECT FROM (
            SELECT value, spent, held FROM billing.budget_value v
              WHERE v.budget_id = b.id AND (v.window_end = b.window_end OR b.dimension = 'child')
            UNION ALL
            SELECT ${VALUES} COLLATE "C", -(${SPENT_IN_UNIT}), 0 FROM ${BUDGET_COSTS} x
              WHERE x.settled_at >= b.window_start AND x.reserved_at >= b.window_start AND ${OF_BUDGET}
            UNION ALL
            SELECT ${VALUES} COLLATE "C", 0, -(${HELD_IN_UNIT}) FROM billing.hold x
              WHERE x.created_at >= b.window_start AND ${OF_BUDGET}) counted
          WHERE value = coalesce(b.value, value) AND (b.dimension <> 'child' OR ${CHILD_END} > now())
          GROUP BY value HAVING sum(spent) <> 0 OR sum(held) <> 0)`,
  },
  {
    id: 'I18',
    rule: 'credit notes of a request do not exceed its cost',
    freezesAccount: true,
    // All notes of the requests with a note since the last closed month. Requests of detached months are left out.
    sql: ({ range }) => `SELECT n.note_of AS subject, s.account_id
      FROM billing.movement n JOIN billing.settlement s ON s.hold_id = n.note_of LEFT JOIN billing.late_settlement l ON l.hold_id = n.note_of
      WHERE n.note_of IN (SELECT note_of FROM ${selectRows('movement', range)} m)
      GROUP BY n.note_of, s.account_id, s.reason, s.cost, l.hold_id, l.due, l.writeoff
      HAVING sum(n.amount) > s.cost + coalesce(l.due - l.writeoff, 0) OR bool_or(n.account_id <> s.account_id)
        OR s.reason = 'lease-expired' AND l.hold_id IS NULL`,
  },
  {
    id: 'I19',
    rule: 'a service has what its items have cost since the start of its day, and what their holds hold',
    freezesAccount: false,
    needsWholeMonth: true,
    sql: () => `SELECT service AS subject, NULL::uuid AS account_id FROM (
        SELECT service, CASE WHEN day >= now() - interval '2 days' THEN spent ELSE 0 END AS spent, held, open_holds FROM billing.service_use
        UNION ALL SELECT split_part(h.model, '/', 1), 0, -h.amount, -1 FROM billing.hold h WHERE h.quantity_max IS NOT NULL
        UNION ALL SELECT u.service, -s.cost, 0, 0 FROM billing.service_use u JOIN billing.settlement s
          ON u.day >= now() - interval '2 days' AND s.settled_at >= u.day AND s.quantity IS NOT NULL AND split_part(s.model, '/', 1) = u.service
        UNION ALL SELECT u.service, l.writeoff - l.due, 0, 0 FROM billing.service_use u JOIN billing.late_settlement l
          ON u.day >= now() - interval '2 days' AND l.settled_at >= u.day AND l.quantity IS NOT NULL
          JOIN billing.settlement s ON s.hold_id = l.hold_id AND split_part(s.model, '/', 1) = u.service
            AND (s.settled_at >= u.day OR l.due > l.writeoff)) both_sides
      GROUP BY service HAVING sum(spent) <> 0 OR sum(held) <> 0 OR sum(open_holds) <> 0`,
  },
];

/**
 * Returns row counts of the snapshot, its time, and the end of the audit chain. Settlements are counted in the scope. Every transaction
 * below `transactionEnd` has ended.
 */
export function selectCounts({ range }: Scope): string {
  return `SELECT now() AS at, pg_snapshot_xmin(pg_current_snapshot())::text AS "transactionEnd",
  (SELECT count(*)::int FROM billing.account) AS accounts, (SELECT count(*)::int FROM billing.project) AS projects,
  (SELECT count(*)::int FROM billing.movement WHERE kind = 'grant') AS grants, (SELECT count(*)::int FROM billing.movement) AS movements,
  (SELECT count(*)::int FROM billing.hold) AS "openHolds", (SELECT count(*)::int FROM ${selectRows('settlement', range)} s) AS settlements,
  (SELECT count(*)::int FROM ${selectRows('late_settlement', range)} l) AS "lateSettlements",
  (SELECT count(*)::int FROM billing.audit) AS "auditEntries", coalesce((SELECT encode(digest, 'hex') FROM billing.audit_head), '') AS "auditDigest"`;
}
