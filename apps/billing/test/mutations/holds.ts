import type { MutationsByFile } from './mutation.js';

const HOLDS = 'apps/billing/src/holds';
const FOLD = `${HOLDS}/fold-batch.test.ts`;
const LANES = `${HOLDS}/hold-lanes.integration.test.ts`;
const LANE = `${HOLDS}/lane.integration.test.ts`;
const LEASES = `${HOLDS}/leases.integration.test.ts`;
const LATER = `${HOLDS}/late-settlements.integration.test.ts`;
const WRITES = `${HOLDS}/write-rows.integration.test.ts`;
const APPLY = 'apps/billing/src/controllers/holds.controller.integration.test.ts';
const CLOCK = `${HOLDS}/clock-set.integration.test.ts`;
const SHOWN = `${HOLDS}/show-request.integration.test.ts`;
const CACHED = `${HOLDS}/apply-cached.integration.test.ts`;
const CACHE = `${HOLDS}/account-cache.test.ts`;
const MOMENT = `${HOLDS}/batch-clock.test.ts`;
const MESSAGES = 'libs/contracts/src/billing/holds.test.ts';
const BUGS = 'apps/billing/test/known-bugs.integration.test.ts';

/** From a reserve to the end of its hold: locks, passes and decisions, what is written, lanes, the reaper. */
export const MUTATIONS_OF_HOLDS: MutationsByFile = {
  // ---- locks ----
  [`${HOLDS}/read-state.ts`]: [
    ['the lock on accounts', 'ORDER BY id FOR NO KEY UPDATE', 'ORDER BY id', BUGS, 'check-then-act'],
    [
      'the lock on holds',
      'WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE) h)',
      'WHERE id = ANY ($1::uuid[]) ORDER BY id) h)',
      LEASES,
      'a renewal under way when the reaper looks',
    ],
    ['revoked keys are left out', ' AND revoked_at IS NULL', '', LANES, 'a revoked key is refused'],
    [
      'a hold settled late is not reaped any more',
      ' AND l.hold_id IS NULL AS reaped',
      ' AS reaped',
      LATER,
      'a settlement after the reaper adds',
    ],
    ['what was settled late is a part of the cost', ' + coalesce(l.due - l.writeoff, 0)', '', LATER, 'a settlement after the reaper adds'],
    [
      'a hold without a meter reading has no usage',
      'if (row.meter_sequence === 0) return undefined;',
      '',
      SHOWN,
      'a request that was reaped before its first meter reading',
    ],
  ],
  [`${HOLDS}/renew.ts`]: [
    [
      'the lock of renewals, in order',
      'WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE',
      'WHERE id = ANY ($1::uuid[])',
      LEASES,
      'renewals of the same holds in opposite orders',
    ],
    [
      'an older reading changes nothing',
      'meter_prompt_tokens = CASE WHEN r.sequence > h.meter_sequence THEN',
      'meter_prompt_tokens = CASE WHEN true THEN',
      LEASES,
      'an older reading',
    ],
    [
      'a reading clears the source of an older replica',
      'THEN NULL ELSE h.meter_source END',
      'THEN h.meter_source ELSE h.meter_source END',
      SHOWN,
      'a meter reading that a newer replica wrote',
    ],
    [
      'a revoked key stops',
      "k.revoked_at IS NULL AND p.enabled AND a.status = 'active' AS",
      "p.enabled AND a.status = 'active' AS",
      LEASES,
      'its key was revoked',
    ],
    [
      'a disabled project stops',
      "k.revoked_at IS NULL AND p.enabled AND a.status = 'active' AS",
      "k.revoked_at IS NULL AND a.status = 'active' AS",
      LEASES,
      'its project was disabled',
    ],
    ['a stopped account stops', "p.enabled AND a.status = 'active' AS", 'p.enabled AS', LEASES, 'its account was stopped'],
  ],
  // ---- batches from memory ----
  [`${HOLDS}/apply-cached.ts`]: [
    [
      'an account that has changed stops the batch',
      ' AND a.xmin = s.version',
      '',
      CACHED,
      'a balance that another replica changes while the batch waits',
    ],
    ['a project that has changed stops the batch', ' AND p.version = s.version', '', CACHED, 'a revoked key'],
    [
      'a missing account stops the batch',
      "billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($33), 'an account has changed'),",
      "billing.demand((SELECT count(*) FROM changed_accounts) >= 0, 'an account has changed'),",
      CACHED,
      'a debit',
    ],
    [
      'a missing project stops the batch',
      "billing.demand((SELECT count(*) FROM changed_projects) = cardinality($41), 'a project has changed'),",
      '',
      CACHED,
      'a disabled project',
    ],
    ['a reserve that was decided before stops the batch', 'billing.demand_new($48, $49),', '', CACHED, 'when it would be held'],
    [
      'a refused reserve that is open stops the batch',
      'plainArray(reserved.filter((holdId) => !opened.has(holdId)))',
      'plainArray([])',
      CACHED,
      'a reserve that is repeated is held',
    ],
    [
      'reserves are looked up with a snapshot of their own',
      'billing.demand_new($48, $49)',
      "billing.demand(NOT EXISTS (SELECT FROM billing.settlement WHERE hold_id = ANY ($48::uuid[])) AND $49::uuid[] IS NOT NULL, '')",
      CACHED,
      'when its release was committed while the batch waited',
    ],
    [
      'a batch that is earlier than its moment is stopped',
      'BETWEEN -$46::float8 AND $47::float8',
      'BETWEEN -1e12 - $46::float8 AND $47::float8',
      CACHED,
      'set by -3600000 ms',
    ],
    [
      'a batch that is late is stopped',
      'BETWEEN -$46::float8 AND $47::float8',
      'BETWEEN -$46::float8 AND 1e12 + $47::float8',
      CACHED,
      'set by 3600000 ms',
    ],
    ['what was refused takes the lock', 'if (isRefused(error)) return undefined;', '', CACHED, 'a debit'],
  ],
  [`${HOLDS}/account-cache.ts`]: [
    [
      'what is known of an account goes with its version',
      'if (cached.state.version !== state.version) return',
      'if (Math.random() > 1) return',
      CACHE,
      'a version that another one has raised',
    ],
    [
      'keys go with the version of their project',
      'cached.state.version === state.version) cached.state = state;',
      'cached.state.version) cached.state = state;',
      CACHE,
      "a project's new version drops the keys",
    ],
    [
      'the reaper takes the lock',
      "|| reason === 'lease-expired') return undefined;",
      ') return undefined;',
      CACHED,
      'the reaper bills the meter reading',
    ],
    [
      'a plan that is about to end takes the lock',
      'grant.endsAt <= now + MOMENT_TOLERANCE_MS',
      'grant.endsAt <= now',
      CACHED,
      'a plan that ends within the tolerance',
    ],
    [
      'a shared account takes the lock',
      'account.ownBatches < OWN_BATCHES_MIN',
      'account.ownBatches < 0',
      CACHED,
      'two replicas that take turns',
    ],
    ['accounts are forgotten', 'this.accounts.size <= ACCOUNTS_MAX', 'this.accounts.size > 0', CACHE, '10,000 accounts'],
    ['holds are forgotten', '&& this.holds <= HOLDS_MAX', '', CACHE, '20,000 open holds'],
  ],
  [`${HOLDS}/batch-clock.ts`]: [
    ['the clock from memory is never ahead', '- DRIFT * (at - this.readAt)', '', MOMENT, 'it runs on with our own'],
    ['the fastest answer counts', 'Math.max(now - at, this.aheadAt(at))', 'now - at', MOMENT, 'of two readings'],
    [
      'the clock from memory never goes back',
      'Math.max(this.last, Math.floor(at + this.aheadAt(at)))',
      'Math.floor(at + this.aheadAt(at))',
      MOMENT,
      'it never goes back',
    ],
  ],
  // ---- passes and decisions ----
  [`${HOLDS}/decide-settles.ts`]: [
    [
      'two passes: all is returned before anything is charged',
      '  return { settle, hold, account, parts };\n}\n\nfunction chargeHold(book: BatchBook, { settle, hold, account, parts }: Ending): void {',
      '  chargeHold(book, { settle, hold, account, parts });\n  return { settle, hold, account, parts };\n}\n\nfunction chargeHold(book: BatchBook, { settle, hold, account, parts }: Ending): void {\n  if (book.rows.settled.some((row) => row.holdId === hold.holdId)) return;',
      FOLD,
      'the fold does what the serial model does',
    ],
    [
      'the third pass: late settlements get what is left',
      "if (typeof ending === 'object' && 'parts' in ending) chargeHold(book, ending);",
      "if (typeof ending === 'object' && 'reaped' in ending) chargeReaped(book, ending);\n  for (const ending of endings) if (typeof ending === 'object' && 'parts' in ending) chargeHold(book, ending);\n  for (const ending of [] as typeof endings)",
      LATER,
      'in one batch what is owed',
    ],
    [
      'the reaper comes last',
      '(reaping[position] ? undefined : endHold(book, settle, times))',
      'endHold(book, settle, times)',
      LEASES,
      'the reaper and a settlement in one batch',
    ],
    [
      'settled is settled',
      "if (book.settlements.has(holdId)) return (!expiring && account && takeReaped(book, settle, account)) || 'already';",
      '',
      LANES,
      'settling again',
    ],
    [
      'a hold is its own account’s',
      "if (hold.accountId !== account.accountId) return 'unknown';",
      '',
      FOLD,
      'the fold does what the serial model does',
    ],
    [
      'only a lease that is over is reaped',
      "if (expiring && hold.leaseUntil + times.reaperGraceMs >= book.now) return 'unknown';",
      '',
      LEASES,
      'a renewal that comes before the reaper decides',
    ],
    ['the grace after a lease', 'hold.leaseUntil + times.reaperGraceMs', 'hold.leaseUntil', LEASES, 'the grace after a lease'],
    ['the tombstone', 'if (!expiring) bury(book, settle);', '', LANES, 'a reserve that arrives after its release'],
    [
      'the reaper buries nothing',
      'if (!expiring) bury(book, settle);',
      'bury(book, settle);',
      FOLD,
      'the fold does what the serial model does',
    ],
    ['an open hold is counted out of its account', 'account.openHolds -= 1;', '', LANES, 'a request is charged its usage'],
    ['an open hold is counted out of its project', 'project.openHolds -= 1;', '', FOLD, 'the fold does what the serial model does'],
    [
      'the reaper bills the meter',
      "settle.reason === 'lease-expired' ? hold.meter : settle.usage",
      'settle.usage',
      LEASES,
      'a hold everybody lost',
    ],
    ['late, and once in a batch', 'book.reaped.delete(settle.holdId);', '', FOLD, 'the fold does what the serial model does'],
    [
      'late, and what was too much is given back',
      'const due = cost - reaped.billed;',
      'const due = cost > reaped.billed ? cost - reaped.billed : 0n;',
      LATER,
      'a settlement after the reaper that comes to less',
    ],
    [
      'late, and given back before anything is charged',
      ', ...(due < 0n && { returned: giveBack(account.funds, reaped.charged, -due) }) };\n}\n\nfunction chargeReaped(book: BatchBook, { settle, reaped, account, usage, over, due, returned }: LateEnding): void {\n  const parts = returned ?? chargeLate(account.funds, due);',
      ' };\n}\n\nfunction chargeReaped(book: BatchBook, { settle, reaped, account, usage, over, due }: LateEnding): void {\n  const parts = due < 0n ? giveBack(account.funds, reaped.charged, -due) : chargeLate(account.funds, due);',
      LATER,
      'what is given back pays for what is late',
    ],
    [
      'late, by its own account',
      'if (reaped?.accountId !== account.accountId) return undefined;',
      'if (!reaped) return undefined;',
      FOLD,
      'the fold does what the serial model does',
    ],
  ],
  [`${HOLDS}/decide-reserve.ts`]: [
    [
      'closed is closed',
      "if (book.settlements.has(holdId) || (held && !isSame(held, reserve))) return { status: 'closed', holdId };",
      '',
      LANES,
      'a reserve that arrives after its release',
    ],
    ['an id holds what it was made for', 'held.amount === BigInt(amountPicoUsd)', 'true', LANES, 'under the id of an open hold'],
    ['held is held', "if (held) return { status: 'held', holdId, leaseMs: times.leaseMs };", '', LANES, 'reserving again with the same id'],
    [
      'requests per minute',
      'countRequests(window) >= project.requestsPerMinuteMax',
      'countRequests(window) > project.requestsPerMinuteMax',
      FOLD,
      'the fold does what the serial model does',
    ],
    [
      'concurrency',
      'project.openHolds >= project.concurrencyMax',
      'project.openHolds > project.concurrencyMax',
      FOLD,
      'the fold does what the serial model does',
    ],
    ['funds', 'amount > available || amount > HOLD_MAX', 'amount > HOLD_MAX', LANES, '200 parallel reserves'],
    ['the largest hold', 'amount > available || amount > HOLD_MAX', 'amount > available', LANES, 'a hold of more than a million dollars'],
    [
      'the key is the project’s',
      'book.keys.get(reserve.keyId) === project.projectId',
      'book.keys.has(reserve.keyId)',
      FOLD,
      'the fold does what the serial model does',
    ],
    ['a window of the future is kept as of now', 'project.requestWindow = window;', '', CLOCK, 'a project at its limit is refused'],
    ['a disabled project', 'project.enabled && ', '', LANES, 'a disabled project is refused'],
    ['a frozen account', 'if (!account.active) return', 'if (false) return', LANES, 'a frozen account is refused'],
    [
      'an admitted request counts',
      'project.requestWindow = admitRequest(window, book.now);',
      '',
      FOLD,
      'the fold does what the serial model does',
    ],
  ],
  [`${HOLDS}/hold.ts`]: [
    ['a cost is at most its hold', 'return actual > hold.amount ?', 'return actual < 0n ?', LANES, 'a usage above the hold'],
    [
      'cached tokens are a part of the prompt',
      'Math.min(usage.cachedTokens, usage.promptTokens)',
      'usage.cachedTokens',
      LANES,
      'more cached tokens than prompt tokens',
    ],
  ],
  [`${HOLDS}/batch-book.ts`]: [
    [
      'a plan ends when its time has come',
      'const forfeit = endDueGrant(account.funds, book.now);',
      'const forfeit = endDueGrant({ ...account.funds, grant: null }, book.now);',
      FOLD,
      'the fold does what the serial model does',
    ],
  ],
  // ---- writing ----
  [`${HOLDS}/write-rows.ts`]: [
    [
      'a hold that was not there',
      "billing.demand((SELECT count(*) FROM settled) = cardinality($2), 'a hold to end was not there')",
      'true',
      WRITES,
      'a hold to end',
    ],
    [
      'an account that was not there',
      "billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($33), 'an account was not there')",
      'true',
      WRITES,
      'an account',
    ],
    [
      'a project that was not there',
      "billing.demand((SELECT count(*) FROM changed_projects) = cardinality($41), 'a project was not there')",
      'true',
      WRITES,
      'a project',
    ],
  ],
  // ---- sources of a usage ----
  [`${HOLDS}/usage-sources.ts`]: [
    [
      'the one source of an older row',
      'if (formerSource !== null) return sourcesOfFormer(formerSource);',
      '',
      SHOWN,
      'rows of the version before, which have one source for both counts a settlement',
    ],
  ],
  'libs/contracts/src/billing/holds.ts': [
    [
      'the one source of an older service',
      'sourcesOfFormer(obj.source)?.[field]',
      'undefined',
      MESSAGES,
      'the single source of an older service',
    ],
  ],
  [`${HOLDS}/show-request.ts`]: [
    [
      'a late settlement replaces the bill of the reaper',
      'row.late ? lateSettlement(row, row.late) : ',
      '',
      SHOWN,
      'a late settlement shows',
    ],
  ],
  // ---- lanes ----
  'apps/billing/src/controllers/holds.controller.ts': [
    ['an item fails alone', 'partial ? outcome.catch', '!partial ? outcome.catch', APPLY, 'items of an account whose queue is full'],
  ],
  [`${HOLDS}/lane.ts`]: [
    [
      'the end of the queue',
      "if (this.queue.length >= queueMax) return 'The billing service has too much to do.';",
      '',
      LANE,
      'a full queue',
    ],
    ['an owner’s share', '>= share.max', '>= Number.POSITIVE_INFINITY', LANE, 'one owner cannot fill'],
    ['a share is given back', 'for (const { item } of taken) this.own(item, -1);', '', LANE, 'one owner cannot fill'],
    ['what is late is dropped', 'deadline < now && isPerishable(item)', 'false', LANE, 'what has waited past its deadline'],
    [
      'halving a batch that is refused',
      'if (isRefusal(error)) return this.runHalves(pending, error);',
      'if (isRefusal(error)) { for (const { reject } of pending) reject(error as Error); return; }',
      LANE,
      'an item the database refuses fails alone',
    ],
    ['sending again after a lost connection', '!sent || deadline <= now', 'true', LANE, 'a reply that was lost after the commit'],
  ],
  [`${HOLDS}/hold-lanes.ts`]: [
    [
      'a settle is never dropped',
      "'reserve' in request;\n    this.lanes",
      'true;\n    this.lanes',
      `${HOLDS}/hold-lanes.integration.test.ts`,
      'a settle that has waited too long',
    ],
  ],
  // ---- reaper ----
  [`${HOLDS}/database-clock.ts`]: [
    ['a clock set forward is noticed', 'this.ahead.least > last.most + STEP_MS || ', '', CLOCK, 'set forward by an hour'],
    [
      'a clock set back is noticed',
      ' || this.ahead.most < last.least - STEP_MS',
      '',
      CLOCK,
      'leases of old requests run as long as they should',
    ],
  ],
  [`${HOLDS}/reaper.ts`]: [
    [
      'leases are extended after an interruption',
      'if (interruption) return await this.extendLeases(connection, interruption.clockWasSet);',
      '',
      LEASES,
      'after an interruption all leases',
    ],
    [
      'nothing is reaped while settles wait',
      'if (this.options.lanes.waitingMs <= BACKLOG_MS) await',
      'await',
      LEASES,
      'nothing is reaped while settles wait',
    ],
    [
      'nothing is reaped while renewals do not arrive',
      'if (!renewalsArrive) return await this.resign(connection);',
      '',
      LEASES,
      'after an interruption all leases',
    ],
    [
      'the lead is left',
      'if (!this.leading) return;\n',
      'if (this.leading || !this.leading) return;\n',
      LEASES,
      'a leader whom renewals do not reach',
    ],
    [
      'a lease is cut when the clock was set',
      'CASE WHEN $2 OR h',
      'CASE WHEN $2 AND h',
      CLOCK,
      'leases of old requests run as long as they should',
    ],
    [
      'a lease of the future is cut',
      '$2 OR h.created_at > clock_timestamp()',
      '$2',
      CLOCK,
      'set back by an hour while every replica is restarted',
    ],
    ['a longer lease is kept', 'greatest(h.lease_until, whole.lease)', 'whole.lease', CLOCK, 'a lease that a replica granted for longer'],
    ['one reaper leads', 'return this.leading;\n  }\n\n  /** Leaves', 'return true;\n  }\n\n  /** Leaves', LEASES, 'one reaper leads'],
  ],
};
