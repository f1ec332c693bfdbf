import type { MutationsByFile } from './mutation.js';

const BATCH = 'apps/billing/src/batch';
const HOLDS = 'apps/billing/src/holds';
const FOLD = `${BATCH}/fold-batch.test.ts`;
const LANES = `${BATCH}/hold-lanes.integration.test.ts`;
const LEADERSHIP = 'apps/billing/src/sql/leadership.ts';
const LEASES = `${HOLDS}/leases.integration.test.ts`;
const LATER = `${HOLDS}/late-settlements.integration.test.ts`;
const WRITES = `${BATCH}/write-rows.integration.test.ts`;
const CLOCK = `${HOLDS}/clock-set.integration.test.ts`;
const CACHED = `${BATCH}/apply-cached.integration.test.ts`;

/** Mutations of holds: locks, batches from memory, the order of the passes, writes, the reaper. */
export const MUTATIONS_OF_HOLDS: MutationsByFile = {
  // ---- locks ----
  [`${BATCH}/read-state.ts`]: [
    [
      'the lock on accounts',
      'WHERE id = b.id FOR NO KEY UPDATE',
      'WHERE id = b.id',
      LANES,
      '200 parallel reserves from two replicas on money for 10',
    ],
    [
      'the lock on holds',
      'account_id = b.payer_id FOR UPDATE) AS h) h)',
      'account_id = b.payer_id LIMIT 1) AS h) h)',
      LEASES,
      'a renewal that the reaper waits for keeps the hold',
    ],
    ['revoked keys are left out', ' AND revoked_at IS NULL', '', LANES, 'a revoked key is refused'],
    ['disabled keys are left out', ' AND NOT disabled', '', LANES, 'a disabled key is refused'],
  ],
  [`${BATCH}/state-rows.ts`]: [
    [
      'a hold settled late is not reaped any more',
      ' AND l.hold_id IS NULL AS reaped',
      ' AS reaped',
      LATER,
      'a settlement after the reaper charges the difference to the reading, once, within the hold',
    ],
    [
      'what was settled late is a part of the cost',
      ' + coalesce(l.due - l.writeoff, 0)',
      '',
      LATER,
      'a settlement after the reaper charges the difference to the reading, once, within the hold',
    ],
  ],
  [`${HOLDS}/renew.ts`]: [
    [
      'the lock of renewals, in order',
      'ORDER BY id FOR UPDATE',
      '',
      LEASES,
      'renewals of the same holds in opposite orders do not deadlock',
    ],
    [
      'an older reading changes nothing',
      '{name} = CASE WHEN r.sequence > h.meter_sequence THEN',
      '{name} = CASE WHEN true THEN',
      LEASES,
      'an older reading extends the lease and keeps the newer reading',
    ],
    ['a key that is not active stops', 'KEY_IS_ACTIVE} AND p.enabled', "'true'} AND p.enabled", LEASES, 'its key was revoked'],
    [
      'a disabled project stops',
      "} AND p.enabled AND a.status = 'active' AS",
      "} AND a.status = 'active' AS",
      LEASES,
      'its project was disabled',
    ],
    ['a stopped account stops', "p.enabled AND a.status = 'active' AS", 'p.enabled AS', LEASES, 'its account was stopped'],
  ],
  // ---- batches from memory ----
  [`${BATCH}/batch-changes.ts`]: [
    [
      'an account that has changed stops the batch',
      ' AND a.xmin = s.version',
      '',
      CACHED,
      'a balance that another replica changes while the batch waits',
    ],
    ['a project that has changed stops the batch', ' AND t.version = s.version', '', CACHED, 'a revoked key'],
    ['a missing account stops the cached batch', 'FROM changed_accounts) =', 'FROM changed_accounts) <=', CACHED, 'a debit'],
    ['a missing project stops the cached batch', `FROM changed_\${table}s) =`, `FROM changed_\${table}s) <=`, CACHED, 'a disabled project'],
    ['a hold that was not there', 'FROM settled) =', 'FROM settled) <=', WRITES, 'a hold to end'],
    ['an account that was not there', 'FROM changed_accounts) =', 'FROM changed_accounts) <=', WRITES, 'an account'],
    ['a project that was not there', `FROM changed_\${table}s) =`, `FROM changed_\${table}s) <=`, WRITES, 'a project'],
  ],
  [`${BATCH}/apply-batch.ts`]: [['what was refused takes the lock', 'if (isRolledBack(error)) return undefined;', '', CACHED, 'a debit']],
  [`${BATCH}/write-rows.ts`]: [
    [
      'a reserve that was decided before stops the batch',
      `billing.demand_new(\${reserved.arrays}, \${notOpened.arrays})`,
      `billing.demand((SELECT count(*) FROM \${reserved.as('r')}, \${notOpened.as('f')}) >= 0, '')`,
      CACHED,
      'when it would be held',
    ],
    [
      'reserves are looked up with a snapshot of their own',
      `billing.demand_new(\${reserved.arrays}, \${notOpened.arrays})`,
      `billing.demand(NOT EXISTS (SELECT FROM billing.settlement t JOIN \${reserved.as('r')} ON r.hold_id = t.hold_id) AND (SELECT count(*) FROM \${notOpened.as('f')}) >= 0, '')`,
      CACHED,
      'when its release was committed while the batch waited',
    ],
    [
      'a batch that is earlier than its moment is stopped',
      `BETWEEN -\${earlyMs}::float8`,
      `BETWEEN -1e12 - \${earlyMs}::float8`,
      CACHED,
      'set by -3600000 ms',
    ],
    ['a batch that is late is stopped', '{lateMs}::float8', '{lateMs}::float8 + 1e12', CACHED, 'set by 3600000 ms'],
  ],
  [`${BATCH}/account-cache.ts`]: [
    [
      'the reaper takes the lock',
      "|| reason === 'lease-expired') return undefined;",
      ') return undefined;',
      CACHED,
      'the reaper bills the meter reading in the database, not the cached hold',
    ],
    [
      'a plan that is about to end takes the lock',
      'grant.endsAt <= now + MOMENT_TOLERANCE_MS',
      'grant.endsAt <= now',
      CACHED,
      'a plan that ends within the tolerance of the clock ends under the lock',
    ],
    [
      'a key that is about to end takes the lock',
      'key.expiresAt <= now + MOMENT_TOLERANCE_MS',
      'key.expiresAt <= now',
      CACHED,
      'a key that ends within the tolerance of the clock is decided under the lock',
    ],
  ],
  // ---- order of the passes ----
  [`${BATCH}/fold-batch.ts`]: [
    [
      'two passes: all is returned before anything is charged',
      '  return { settle, hold, account, parts, budgets };\n}\n\nfunction chargeHold(draft: BatchDraft, { settle, hold, account, parts, budgets }: EndedHold): void {',
      '  chargeHold(draft, { settle, hold, account, parts, budgets });\n  return { settle, hold, account, parts, budgets };\n}\n\nfunction chargeHold(draft: BatchDraft, { settle, hold, account, parts, budgets }: EndedHold): void {\n  if (draft.rows.settled.some((row) => row.holdId === hold.holdId)) return;',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'the third pass: late settlements get what is left',
      "if (typeof outcome === 'object' && 'parts' in outcome) chargeHold(draft, outcome);",
      "if (typeof outcome === 'object' && 'reaped' in outcome) recordLate(draft, outcome);\n  for (const outcome of outcomes) if (typeof outcome === 'object' && 'parts' in outcome) chargeHold(draft, outcome);\n  outcomes.length = 0;",
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'late settlements that give back come before those that charge',
      'for (const givesBack of [true, false])',
      'for (const givesBack of [false, true])',
      FOLD,
      'what late settlements of a batch give back is left in budgets for those that charge',
    ],
    [
      'the reaper comes last',
      '(byReaper[position] ? undefined : endHold(draft, settle, times))',
      'endHold(draft, settle, times)',
      LEASES,
      'the reaper and a settle in one batch: the settle counts',
    ],
    [
      'late, and given back before anything is charged',
      ', ...(due < 0n && { returned: giveBack(account.funds, reaped.charged, -due) }) };\n}\n\nfunction recordLate(draft: BatchDraft, { settle, reaped, account, usage, over, step, due, returned }: PendingLateSettlement): void {\n  const parts = returned ?? chargeLate(account.funds, due, leftForLate(draft, reaped));',
      ' };\n}\n\nfunction recordLate(draft: BatchDraft, { settle, reaped, account, usage, over, step, due }: PendingLateSettlement): void {\n  const parts = due < 0n ? giveBack(account.funds, reaped.charged, -due) : chargeLate(account.funds, due, leftForLate(draft, reaped));',
      FOLD,
      'the fold equals the serial model',
    ],
  ],
  // ---- reaper ----

  [`${HOLDS}/reaper.ts`]: [
    [
      'a lease is cut when the clock was set',
      'CASE WHEN $2 OR h',
      'CASE WHEN $2 AND h',
      CLOCK,
      'set back by an hour: leases of running requests keep their length',
    ],
    [
      'a lease of the future is cut',
      '$2 OR h.created_at > clock_timestamp()',
      '$2',
      CLOCK,
      'set back by an hour while every replica restarts: holds from the future get a full lease',
    ],
    [
      'a longer lease is kept',
      'greatest(h.lease_until, fresh.lease)',
      'fresh.lease',
      CLOCK,
      'the leader does not shorten a longer lease of another replica',
    ],
  ],
  [LEADERSHIP]: [['one reaper leads', 'this.leading = rows[0]?.leading === true;', 'this.leading = true;', LEASES, 'one reaper leads']],
};
