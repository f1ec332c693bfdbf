import type { MutationsByFile } from './mutation.js';

const LEDGER = 'apps/billing/src/ledger/ledger.integration.test.ts';
const REFUNDS = 'apps/billing/src/ledger/refunds.integration.test.ts';
const CREDIT = 'apps/billing/src/ledger/credit-line.integration.test.ts';
const NOTES = 'apps/billing/src/ledger/credit-notes.integration.test.ts';
const SUBSCRIPTIONS = 'apps/billing/src/ledger/plan-subscriptions.integration.test.ts';
const RACES = 'apps/billing/src/ledger/money-races.integration.test.ts';
const CHECKPOINT = 'apps/billing/src/ledger/checkpoint.integration.test.ts';
const AUDITOR = 'apps/billing/src/ledger/auditor.integration.test.ts';
const ROLES = 'apps/billing/src/ledger/service-role.integration.test.ts';
const MAXIMA = 'apps/billing/src/limits/maxima.integration.test.ts';
const KEYS = 'apps/billing/src/keys/keys.integration.test.ts';
const LOOKUPS = 'apps/billing/src/keys/key-lookups.integration.test.ts';
const ROLLUPS = 'apps/billing/src/usage/close-usage.integration.test.ts';
const USAGE = 'apps/billing/src/usage/query-usage.integration.test.ts';
const MONTHS = 'apps/billing/src/months/months.integration.test.ts';

/** Mutations of keys, money operations, usage, checks and rights. */
export const MUTATIONS_OF_MONEY: MutationsByFile = {
  // ---- keys ----
  'apps/billing/src/payer/key-status.ts': [
    ['a revoked key is not active', 'k.revoked_at IS NULL AND ', '', LOOKUPS, 'a revoked key is refused'],
    ['a disabled key is not active', 'NOT k.disabled AND ', '', LOOKUPS, 'a disabled key is refused'],
    ['an expired key is not active', 'k.expires_at > clock_timestamp()', 'true', LOOKUPS, 'an expired key is refused'],
  ],
  'apps/billing/src/keys/keys.ts': [['the lock on a key', ' FOR NO KEY UPDATE', '', KEYS, 'of one key at the same time succeeds once']],
  'apps/billing/src/keys/key-lookups.ts': [
    ['a key of a disabled project is not found', ' AND p.enabled', '', LOOKUPS, 'a key of a disabled project is refused'],
  ],
  // ---- most keys and projects ----
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
  ],
  // ---- money operations ----
  'apps/billing/src/sql/under-account-lock.ts': [
    [
      'the lock before an operation on money',
      'SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE',
      'SELECT FROM billing.account WHERE id = $1',
      RACES,
      'a debit sees money that arrived meanwhile',
    ],
  ],
  'apps/billing/src/sql/guard-check.ts': [
    [
      'a check gives way to nothing else',
      " AND waits.mode = 'AccessExclusiveLock'",
      '',
      AUDITOR,
      'is not cancelled by statements that do not wait for readers',
    ],
  ],
  'apps/billing/src/ledger/freeze-accounts.ts': [
    ['a frozen account keeps its reason', ' FOR NO KEY UPDATE OF a', '', RACES, 'a freeze keeps the reason of one that was made meanwhile'],
  ],
  'apps/billing/src/accounts/accounts.ts': [
    ['the lock before a change of an account', ' FOR NO KEY UPDATE`', '`', RACES, 'a credit line is not taken that was used meanwhile'],
  ],
  'apps/billing/src/ledger/refund.ts': [
    [
      'a refund never uses the credit line',
      'greatest(a.topup - a.topup_held, 0)',
      'greatest(a.topup + a.credit_line - a.topup_held, 0)',
      CREDIT,
      'a debit may use the credit line, a refund never',
    ],
    [
      'a refund takes only what is free',
      'BETWEEN 1 AND least(refundable, free)',
      'BETWEEN 1 AND refundable',
      REFUNDS,
      'never takes held or spent money',
    ],
    [
      'a refund takes only what was topped up',
      'BETWEEN 1 AND least(refundable, free)',
      'BETWEEN 1 AND free',
      REFUNDS,
      'never exceeds the top-ups not refunded yet, and the error has the refundable amount',
    ],
    [
      'a refund id is of one account and payment',
      'm.account_id = a.id AND m.refund_of IS NOT DISTINCT FROM (SELECT id FROM payment)',
      'true',
      REFUNDS,
      'is made once per id; the same id for another refund is a conflict',
    ],
  ],
  'apps/billing/src/ledger/adjust.ts': [
    [
      'a debit takes only what is free',
      '$3::numeric <= topup + credit_line - topup_held',
      '$3::numeric <= topup + credit_line',
      REFUNDS,
      'a debit never takes held money',
    ],
    [
      'an adjustment id is one adjustment',
      'm.account_id = a.id AND m.kind = $2 AND m.amount = $3',
      'm.account_id = a.id AND (m.kind = $2 OR m.amount = $3)',
      REFUNDS,
      'adds or takes money, once by its id',
    ],
  ],
  'apps/billing/src/ledger/credit-note.ts': [
    [
      'a note takes only what is left of the cost',
      'coalesce($2::numeric, creditable) BETWEEN 1 AND creditable',
      'coalesce($2::numeric, creditable) >= 1',
      NOTES,
      'the cost of a request is given back in parts and then in whole, and never more',
    ],
    [
      'the bill of the reaper gets no note',
      "CASE WHEN s.reason <> 'lease-expired' OR l.hold_id IS NOT NULL THEN",
      'CASE WHEN true THEN',
      NOTES,
      'a request that runs, an unknown one and the bill of the reaper get no note',
    ],
  ],
  'apps/billing/src/ledger/grant-due-plans.ts': [
    [
      'a subscription is there when its grant is made',
      'grantStatement(`EXISTS (',
      'grantStatement(`true OR EXISTS (',
      SUBSCRIPTIONS,
      'a subscription that is cancelled while its grant waits for the account is not granted',
    ],
    [
      'a grant moves the time of the next one',
      'SET due_at = $6',
      'SET due_at = due_at, time_zone = time_zone FROM (SELECT $6::timestamptz) s',
      SUBSCRIPTIONS,
      'a change takes effect with the next period',
    ],
  ],
  'apps/billing/src/ledger/grant-plan.ts': [
    [
      'the held part of an ended grant stays',
      'SET expired = a.expired + a.plan_held, ',
      'SET ',
      LEDGER,
      'a new grant replaces the former one, which stays with the holds made under it',
    ],
    [
      'a grant key is one grant',
      'm.account_id = a.id AND m.amount = $2 AND m.grant_ends_at = $3',
      'm.account_id = a.id AND (m.amount = $2 OR m.grant_ends_at = $3)',
      LEDGER,
      'dollars become pico-USD exactly; a grant key is granted once; invalid amounts are refused',
    ],
  ],
  'apps/billing/src/ledger/top-up.ts': [
    [
      'a payment id is one payment',
      'm.account_id = a.id AND m.amount = $2 AS same',
      '(m.account_id = a.id OR m.amount = $2) AS same',
      LEDGER,
      'a payment is credited once, however often it is sent',
    ],
  ],

  // ---- usage and checks ----
  'apps/billing/src/usage/usage-entries.ts': [
    [
      'usage counts what was settled late',
      's.cost + l.due - l.writeoff,',
      's.cost,',
      USAGE,
      'movements less usage and forfeits equal the balance plus ended-plan money of open holds',
    ],
    [
      'usage counts what was forfeited late',
      's.forfeit + coalesce(l.forfeit, 0)',
      's.forfeit',
      USAGE,
      'movements less usage and forfeits equal the balance plus ended-plan money of open holds',
    ],
  ],
  'apps/billing/src/usage/close-usage.ts': [
    [
      'a slice ends below the oldest running transaction',
      'pg_snapshot_xmin(pg_current_snapshot())',
      'pg_snapshot_xmax(pg_current_snapshot())',
      ROLLUPS,
      'a settlement of a long transaction counts when it commits, though later ones were counted before',
    ],
    [
      'replicas add slices in turn',
      'billing.usage_state FOR UPDATE SKIP LOCKED',
      'billing.usage_state',
      ROLLUPS,
      'ten at once count each settlement once',
    ],
    [
      'a rebuild waits for the replica that adds a slice',
      "'SELECT FROM billing.usage_state FOR UPDATE'",
      "'SELECT FROM billing.usage_state'",
      ROLLUPS,
      'a rebuild waits for the replica that is adding, and gives the same sums',
    ],
  ],
  'apps/billing/src/usage/usage-snapshot.ts': [
    [
      'rollups and journal are read in one snapshot',
      'isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead, ',
      '',
      ROLLUPS,
      'sums that are read while slices are added never differ',
    ],
  ],

  'apps/billing/src/ledger/write-fault-events.ts': [
    [
      'a fault is one event a day',
      "interval '1 day'",
      "interval '0 days'",
      AUDITOR,
      'freezes an account whose money is wrong; the others go on',
    ],
  ],

  'apps/billing/src/ledger/checkpoint.ts': [
    [
      'a checkpoint is of its cluster',
      ' AND system_identifier = (SELECT system_identifier FROM pg_control_system())',
      '',
      CHECKPOINT,
      'is not used',
    ],
    ['a checkpoint is of its month', 'month = $1 AND', '$1::text IS NOT NULL AND', CHECKPOINT, 'is not used'],
    ['a checkpoint is used for a day', "made_at > now() - interval '1 day'", 'true', CHECKPOINT, 'is not used'],
  ],
  'apps/billing/src/months/close-month.ts': [
    [
      'no transaction runs that could add a row',
      'while (!(await haveEnded())) {',
      'while (false as boolean) {',
      MONTHS,
      'before the transactions have ended that were running',
    ],
  ],
  'apps/billing/src/journal/journal-rows.ts': [
    [
      'a row of a clock that was set back is checked',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: source code
      ' OR transaction_id >= ${after.transactionEnd})`',
      ')`',
      MONTHS,
      'a row that a clock set back puts into it belongs to the next month',
    ],
  ],

  // ---- rights ----

  'scripts/prisma/service-roles.ts': [
    [
      'the service may not change a journal',
      'settlement: { select: true, insert: true },\n      late',
      "settlement: { select: true, insert: true, update: ['account_id'] },\n      late",
      ROLES,
      'UPDATE on settlement',
    ],
    [
      'what else was granted is revoked',
      'await client.query(`REVOKE ALL ON ALL TABLES',
      'await client.query(`REVOKE TRIGGER ON ALL TABLES',
      ROLES,
      'setting up the users again revokes other grants and leaves the owner unchanged',
    ],
  ],
};
