import type { MutationsByFile } from './mutation.js';

const FOLD = 'apps/billing/src/holds/fold-batch.test.ts';
const LATER = 'apps/billing/src/holds/late-settlements.integration.test.ts';
const LEDGER = 'apps/billing/src/ledger/ledger.integration.test.ts';
const REFUNDS = 'apps/billing/src/ledger/refunds.integration.test.ts';
const CREDIT = 'apps/billing/src/ledger/credit-line.integration.test.ts';
const NOTES = 'apps/billing/src/ledger/credit-notes.integration.test.ts';
const SUBSCRIPTIONS = 'apps/billing/src/ledger/plan-subscriptions.integration.test.ts';
const RACES = 'apps/billing/src/ledger/money-races.integration.test.ts';
const CHECKPOINT = 'apps/billing/src/ledger/checkpoint.integration.test.ts';
const AUDITOR = 'apps/billing/src/ledger/auditor.integration.test.ts';
const ROLES = 'apps/billing/src/ledger/service-role.integration.test.ts';
const WINDOW = 'apps/billing/src/limits/minute-window.test.ts';
const KEYS = 'apps/billing/src/keys/keys.integration.test.ts';
const LOOKUPS = 'apps/billing/src/keys/key-lookups.integration.test.ts';
const CURSOR = 'apps/billing/src/paging/page-cursor.test.ts';
const ROLLUPS = 'apps/billing/src/usage/close-usage.integration.test.ts';
const USAGE = 'apps/billing/src/usage/query-usage.integration.test.ts';
const MONTHS = 'apps/billing/src/months/months.integration.test.ts';
const SERVICE = 'apps/billing/src/billing.integration.test.ts';

/** Mutations of balances, limits, money operations, checks and rights. */
export const MUTATIONS_OF_MONEY: MutationsByFile = {
  // ---- balances and limits ----
  'apps/billing/src/ledger/funds.ts': [
    ['held plan money is not free', 'return funds.plan - funds.planHeld;', 'return funds.plan;', FOLD, 'the fold equals the serial model'],
    [
      'held top-up money is not available',
      'funds.topup + funds.creditLine - funds.topupHeld',
      'funds.topup + funds.creditLine',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'the credit line is available',
      'funds.topup + funds.creditLine - funds.topupHeld',
      'funds.topup - funds.topupHeld',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'the credit line is part of the balance',
      'funds.topup + funds.creditLine + funds.plan',
      'funds.topup + funds.plan',
      CREDIT,
      'the balance has the credit line, and its parts add up',
    ],
    [
      'given back to the top-up first',
      'const topup = min(excess, charged.topupCost);',
      'const topup = 0n;',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'nothing is given back to another grant',
      'charged.liveGrantId !== null && charged.liveGrantId === funds.grant?.id',
      'funds.grant !== null',
      'apps/billing/src/ledger/funds.test.ts',
      'money paid from an ended grant is forfeited, and not given to its successor',
    ],
    [
      'what an ended grant cannot take back is forfeited',
      'forfeit: excess - topup - plan }',
      'forfeit: 0n }',
      LATER,
      'money that would go back to an ended plan is forfeited',
    ],
    [
      'late, and only from what is free',
      'min(cost - planCost, freeTopup(funds))',
      'cost - planCost',
      LATER,
      'a late settlement writes off what other holds need: the balance is never negative',
    ],
    ['the plan goes first', 'const plan = min(amount, freePlan(funds));', 'const plan = 0n;', FOLD, 'the fold equals the serial model'],
    ['an ended grant stays with its holds', 'funds.expired += funds.planHeld;', '', FOLD, 'the fold equals the serial model'],
  ],
  'apps/billing/src/ledger/read-balance.ts': [
    ['a plan whose time is over is in no balance', 'endDueGrant(funds, row.now);', '', LEDGER, 'plan'],
  ],
  'apps/billing/src/limits/minute-window.ts': [
    ['a window is 60 seconds', 'lastAt + WINDOW_MS > now);', 'lastAt + WINDOW_MS - 1_000 > now);', WINDOW, ''],
    [
      'a counter remembers its last request',
      'window.with(-1, [now, last[1] + count])',
      'window.with(-1, [last[0], last[1] + count])',
      WINDOW,
      'the requests of one second count until 60 s after the last of them',
    ],
    [
      'requests of a time to come count as of now',
      'if (!isAhead(within, now)) return within;',
      'if (within) return within;',
      WINDOW,
      'requests from before the clock was set back count for 60 s more',
    ],
    ['Retry-After is not early', 'Math.max(1, Math.ceil((lastAt', 'Math.max(1, Math.floor((lastAt', WINDOW, ''],
  ],
  // ---- keys ----
  'apps/billing/src/keys/key-status.ts': [
    ['a revoked key is not active', 'k.revoked_at IS NULL AND ', '', LOOKUPS, 'a revoked key is refused'],
    ['a disabled key is not active', 'NOT k.disabled AND ', '', LOOKUPS, 'a disabled key is refused'],
    ['an expired key is not active', 'k.expires_at > clock_timestamp()', 'true', LOOKUPS, 'an expired key is refused'],
  ],
  'apps/billing/src/keys/keys.ts': [
    ['the lock on a key', ' FOR NO KEY UPDATE', '', KEYS, 'of one key at the same time succeeds once'],
    ['a key is replaced once', 'if (row.replacedBy)', 'if (false)', KEYS, 'is made once'],
    ['only an active key is replaced', "status !== 'active'", "status === 'revoked'", KEYS, 'is made once'],
    ['a grace lengthens no life', 'row.expiresAt < graceEnd', 'false', KEYS, 'never lets the old key live longer'],
    ['a replaced key ends no later', 'row.replacedBy && wouldEndLater(row, expiresAt)', 'false', KEYS, 'a replaced key ends no later'],
    ['a replaced key has an end', 'return newEnd === null ||', 'return', KEYS, 'a replaced key ends no later'],
    ['a revoked key stays as it is', 'if (row.revokedAt) throw', 'if (false) throw', KEYS, 'a revoked key does not change'],
    ['an end has not passed', 'end.getTime() > Date.now()', 'true', KEYS, 'an end that has passed is refused'],
  ],
  'apps/billing/src/keys/key-lookups.ts': [
    ['a key of a disabled project is not found', ' AND p.enabled', '', LOOKUPS, 'a key of a disabled project is refused'],
    [
      'an answer goes to the lookup that asked for it',
      'return wanted.map((digest) => found.get(digest));',
      'return wanted.map(() => found.values().next().value);',
      LOOKUPS,
      '1,000 concurrent guesses cost ten queries, and valid keys among them are found',
    ],
  ],
  // ---- money operations ----
  'apps/billing/src/ledger/under-account-lock.ts': [
    [
      'the lock before an operation on money',
      'SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE',
      'SELECT FROM billing.account WHERE id = $1',
      RACES,
      'a debit sees money that arrived meanwhile',
    ],
  ],
  'apps/billing/src/ledger/guard-check.ts': [
    [
      'a check gives way to a change of the schema',
      '.rowCount) yieldToMigration();',
      '.rowCount) undefined;',
      AUDITOR,
      'is cancelled by a migration: the migration runs at once, and requests go on',
    ],
    [
      'a check gives way to nothing else',
      " AND waits.mode = 'AccessExclusiveLock'",
      '',
      AUDITOR,
      'is not cancelled by statements that do not wait for readers',
    ],
    [
      'a check is cancelled when the service stops',
      'if (cancelled.aborted && !done.aborted) await',
      'if (false) await',
      AUDITOR,
      'a stopping service does not wait for a check',
    ],
  ],
  'apps/billing/src/ledger/freeze-accounts.ts': [
    ['a frozen account keeps its reason', ' FOR NO KEY UPDATE OF a', '', RACES, 'a freeze keeps the reason of one that was made meanwhile'],
  ],
  'apps/billing/src/accounts/accounts.ts': [
    [
      'a credit line covers what is used and held',
      'if (creditLine >= used) return;',
      'if (true) return;',
      CREDIT,
      'a credit line is never less than what is used and held',
    ],
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
      'a refund id is one refund',
      'row.is_same && (amount === undefined || BigInt(row.recorded) === amount)',
      'row.is_same',
      REFUNDS,
      'is made once per id; the same id for another refund is a conflict',
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
      'a note id is one note',
      'row.is_same && row.reason === reason && (amount === undefined || BigInt(row.recorded) === amount)',
      'row.is_same',
      NOTES,
      'a note id is one note',
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
      'a period is granted once',
      'const key = `subscription:',
      'const key = randomUUID() + `subscription:',
      SUBSCRIPTIONS,
      'a start that is set back into a period with a grant grants nothing',
    ],
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
  'libs/contracts/src/billing/fields.ts': [
    [
      'an id in capitals is the same id',
      'value.toLowerCase()',
      'value',
      SERVICE,
      'unknown ids are not found; ids in capitals are the same ids',
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
    [
      'a restored database is counted anew',
      'state.sameCluster ?',
      'state ?',
      ROLLUPS,
      'a database that was restored into another cluster is counted anew',
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
  'apps/billing/src/usage/query-usage.ts': [
    [
      'the first page settles the end',
      'settledTo ? new Date(settledTo) : (question.to ?? now)',
      'question.to ?? now',
      USAGE,
      'the first page fixes the end: later usage is in none of the pages',
    ],
  ],
  'apps/billing/src/paging/page-cursor.ts': [
    ['a cursor answers its own question', 'if (bound !== digest(question))', 'if (false)', CURSOR, 'a cursor of another query is refused'],
  ],
  'apps/billing/src/events/write-fault-events.ts': [
    [
      'a fault is one event a day',
      "interval '1 day'",
      "interval '0 days'",
      AUDITOR,
      'freezes an account whose money is wrong; the others go on',
    ],
  ],
  'apps/billing/src/ledger/auditor.ts': [
    [
      'a fault is an event',
      'await writeFaultEvents(connection, report);',
      '',
      AUDITOR,
      'does not freeze for a hold that is open too long, or a window out of order',
    ],
    [
      'a wrong account is frozen',
      "await freezeAccounts(connection, accountsToFreeze(report), serviceAuthor('billing', logger))",
      '[]',
      AUDITOR,
      'freezes an account whose money is wrong; the others go on',
    ],
    [
      'only money freezes',
      '.filter(({ freezesAccount }) => freezesAccount)',
      '',
      AUDITOR,
      'does not freeze for a hold that is open too long, or a window out of order',
    ],
  ],
  'apps/billing/src/ledger/check-ledger.ts': [
    [
      'a violation keeps the checkpoint where it is',
      'if (scheduled && read.found.every(({ first }) => first.length === 0))',
      'if (scheduled)',
      CHECKPOINT,
      'as long as it is wrong',
    ],
    [
      'a wrong sum makes the check read the rows',
      'if (read.found.some(({ ofCheckpoint, first }) => ofCheckpoint && first.length > 0))',
      'if (false as boolean)',
      CHECKPOINT,
      'of the checkpoint freezes nobody',
    ],
    [
      'a check from the checkpoint leaves out what needs the whole month',
      'if (scope.checkpoint && invariant.needsWholeMonth) continue;',
      '',
      CHECKPOINT,
      'leaves out what needs the whole month',
    ],
  ],
  'apps/billing/src/ledger/checkpoint.ts': [
    ['rows below the end alone are summed', ', below: transactionEnd', '', CHECKPOINT, 'is read after it has ended'],
    [
      'a checkpoint is of its cluster',
      ' AND system_identifier = (SELECT system_identifier FROM pg_control_system())',
      '',
      CHECKPOINT,
      'is not used',
    ],
    ['a checkpoint is of its month', 'month = $1 AND', '$1::text IS NOT NULL AND', CHECKPOINT, 'is not used'],
    ['a checkpoint is used for a day', "made_at > now() - interval '1 day'", 'true', CHECKPOINT, 'is not used'],
    ['a checkpoint that moves gets no younger', 'checkpoint?.madeAt ?? at', 'at', CHECKPOINT, 'makes no younger checkpoint'],
  ],
  'apps/billing/src/months/close-month.ts': [
    [
      'no transaction runs that could add a row',
      'while (!(await haveEnded())) {',
      'while (false as boolean) {',
      MONTHS,
      'before the transactions have ended that were running',
    ],
    [
      'an inconsistent month is not sealed',
      'if (broken.length > 0) {',
      'if (false as boolean) {',
      MONTHS,
      'while the ledger is inconsistent',
    ],
  ],
  'apps/billing/src/months/journal-rows.ts': [
    [
      'a row of a clock that was set back is checked',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: source code
      ' OR transaction_id >= ${after.transactionEnd})`',
      ')`',
      MONTHS,
      'a row that a clock set back puts into it belongs to the next month',
    ],
  ],
  'apps/billing/src/months/month-faults.ts': [
    [
      'the sums of the last month are checked',
      'position === months.length - 1 ? SUM_FILES : []',
      '[]',
      MONTHS,
      'every check finds changed sums',
    ],
    ['the audit journal has the digest', ' || digests.get(month.id) !== month.digest', '', MONTHS, 'every check finds a changed manifest'],
  ],
  // ---- rights ----
  'libs/contracts/src/billing/holds.ts': [
    [
      'only the reaper may settle with lease-expired',
      "'client-disconnected', 'released'] as const;",
      "'client-disconnected', 'released', 'lease-expired'] as const;",
      SERVICE,
      'hold.apply refuses',
    ],
  ],
  'scripts/prisma/service-roles.mjs': [
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
