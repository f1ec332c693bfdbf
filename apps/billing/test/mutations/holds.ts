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
const WRITES_TO_CACHE = `${HOLDS}/cache-writes.integration.test.ts`;
const CACHED = `${HOLDS}/apply-cached.integration.test.ts`;
const CACHE = `${HOLDS}/account-cache.test.ts`;
const MOMENT = `${HOLDS}/batch-clock.test.ts`;
const MESSAGES = 'libs/contracts/src/billing/holds.test.ts';

/** Mutations of holds: locks, decisions, writes, lanes, reaper. */
export const MUTATIONS_OF_HOLDS: MutationsByFile = {
  // ---- locks ----
  [`${HOLDS}/read-state.ts`]: [
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
    ['a key has its end', 'row.expires_at ?? ', '', LANES, 'an expired key is refused'],
    [
      'a hold counts in the budgets of its root',
      'rootKeyId: row.root_key_id ?? row.key_id,',
      'rootKeyId: row.key_id,',
      'apps/billing/src/holds/apply-batch.integration.test.ts',
      'Postgres equals the serial model',
    ],
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
      'renewals of the same holds in opposite orders do not deadlock',
    ],
    [
      'an older reading changes nothing',
      'meter_prompt_tokens = CASE WHEN r.sequence > h.meter_sequence THEN',
      'meter_prompt_tokens = CASE WHEN true THEN',
      LEASES,
      'an older reading extends the lease and keeps the newer reading',
    ],
    [
      'a reading clears the source of an older replica',
      'THEN NULL ELSE h.meter_source END',
      'THEN h.meter_source ELSE h.meter_source END',
      SHOWN,
      'a meter reading that a newer replica wrote',
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
      "billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($35), 'an account has changed'),",
      "billing.demand((SELECT count(*) FROM changed_accounts) >= 0, 'an account has changed'),",
      CACHED,
      'a debit',
    ],
    [
      'a missing project stops the batch',
      "billing.demand((SELECT count(*) FROM changed_projects) = cardinality($43), 'a project has changed'),",
      '',
      CACHED,
      'a disabled project',
    ],
    ['a reserve that was decided before stops the batch', 'billing.demand_new($51, $52, $53, $54),', '', CACHED, 'when it would be held'],
    [
      'a refused reserve that is open stops the batch',
      'reserves.filter(({ holdId }) => !opened.has(holdId))',
      'reserves.slice(0, 0)',
      CACHED,
      'a reserve that is repeated is held',
    ],
    [
      'reserves are looked up with a snapshot of their own',
      'billing.demand_new($51, $52, $53, $54)',
      "billing.demand(NOT EXISTS (SELECT FROM billing.settlement WHERE hold_id = ANY ($51::uuid[])) AND $52::uuid[] || $53::uuid[] || $54::uuid[] IS NOT NULL, '')",
      CACHED,
      'when its release was committed while the batch waited',
    ],
    [
      'a batch that is earlier than its moment is stopped',
      'BETWEEN -$49::float8 AND $50::float8',
      'BETWEEN -1e12 - $49::float8 AND $50::float8',
      CACHED,
      'set by -3600000 ms',
    ],
    [
      'a batch that is late is stopped',
      'BETWEEN -$49::float8 AND $50::float8',
      'BETWEEN -$49::float8 AND 1e12 + $50::float8',
      CACHED,
      'set by 3600000 ms',
    ],
    ['what was refused takes the lock', 'if (isRolledBack(error)) return undefined;', '', CACHED, 'a debit'],
  ],
  [`${HOLDS}/account-cache.ts`]: [
    [
      'what is known of an account goes with its version',
      'if (cached.state.version !== state.version) return',
      'if (Math.random() > 1) return',
      CACHE,
      'an account that another transaction changed is decided from memory after two batches that found it unchanged',
    ],
    [
      'keys go with the version of their project',
      'cached.state.version === state.version) cached.state = state;',
      'cached.state.version) cached.state = state;',
      CACHE,
      'a new version of a project drops its keys',
    ],
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
    [
      'a shared account takes the lock',
      'account.unchangedBatches < UNCHANGED_BATCHES_MIN',
      'account.unchangedBatches < 0',
      CACHED,
      'two replicas that alternate on one account: every batch counts, and neither retries its memory of a shared account',
    ],
    [
      'accounts are forgotten',
      'this.accounts.size <= ACCOUNTS_MAX',
      'this.accounts.size > 0',
      CACHE,
      'the cache keeps the 10,000 accounts used last',
    ],
    [
      'holds are forgotten',
      '&& this.holds <= HOLDS_MAX',
      '',
      CACHE,
      'the cache keeps 20,000 open holds and evicts the least recently used accounts',
    ],
  ],
  [`${HOLDS}/batch-clock.ts`]: [
    [
      'the clock from memory is never ahead',
      '- DRIFT * (at - this.readAt)',
      '',
      MOMENT,
      'the clock advances with the process clock, slightly slower, so that it is never ahead',
    ],
    ['the fastest answer counts', 'Math.max(now - at, this.aheadAt(at))', 'now - at', MOMENT, 'the faster of two readings counts'],
    [
      'the clock from memory never goes back',
      'Math.max(this.last, Math.floor(at + this.aheadAt(at)))',
      'Math.floor(at + this.aheadAt(at))',
      MOMENT,
      'the clock never goes back, except for the reading of a locked batch',
    ],
  ],
  // ---- passes and decisions ----
  [`${HOLDS}/decide-settles.ts`]: [
    [
      'two passes: all is returned before anything is charged',
      '  return { settle, hold, account, parts, budgets };\n}\n\nfunction chargeHold(draft: BatchDraft, { settle, hold, account, parts, budgets }: EndedHold): void {',
      '  chargeHold(draft, { settle, hold, account, parts, budgets });\n  return { settle, hold, account, parts, budgets };\n}\n\nfunction chargeHold(draft: BatchDraft, { settle, hold, account, parts, budgets }: EndedHold): void {\n  if (draft.rows.settled.some((row) => row.holdId === hold.holdId)) return;',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'the third pass: late settlements get what is left',
      "if (typeof ending === 'object' && 'parts' in ending) chargeHold(draft, ending);",
      "if (typeof ending === 'object' && 'reaped' in ending) recordLate(draft, ending);\n  for (const ending of endings) if (typeof ending === 'object' && 'parts' in ending) chargeHold(draft, ending);\n  for (const ending of [] as typeof endings)",
      LATER,
      'in one batch settlements within their hold are charged before late ones',
    ],
    [
      'the reaper comes last',
      '(byReaper[position] ? undefined : endHold(draft, settle, times))',
      'endHold(draft, settle, times)',
      LEASES,
      'the reaper and a settle in one batch: the settle counts',
    ],
    [
      'settled is settled',
      'if (draft.settlements.has(holdId)) {\n    const late =',
      'if (false) {\n    const late =',
      LANES,
      'concurrent settles from several replicas charge once',
    ],
    [
      'a hold is its own account’s',
      "if (hold.accountId !== account.accountId) return 'unknown';",
      '',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'only a lease that is over is reaped',
      "if (byReaper && hold.leaseUntil + times.reaperGraceMs >= draft.now) return 'unknown';",
      '',
      LEASES,
      'a renewal before the reaper decides keeps the hold',
    ],
    [
      'the grace after a lease',
      'hold.leaseUntil + times.reaperGraceMs',
      'hold.leaseUntil',
      LEASES,
      'within the grace after a lease a settle may still arrive',
    ],
    [
      'the tombstone',
      'if (!byReaper && !draft.detached.has(holdId)) recordTombstone(draft, settle);',
      '',
      LANES,
      'a reserve that arrives after its release is closed; the release can be repeated',
    ],
    [
      'the reaper buries nothing',
      'if (!byReaper && !draft.detached.has(holdId)) recordTombstone(draft, settle);',
      'recordTombstone(draft, settle);',
      FOLD,
      'the fold equals the serial model',
    ],
    [
      'an open hold is counted out of its account',
      'account.openHolds -= 1;',
      '',
      LANES,
      'a request is charged its usage, the rest of the hold is returned, and request.show has all of it',
    ],
    ['an open hold is counted out of its project', 'project.openHolds -= 1;', '', FOLD, 'the fold equals the serial model'],
    [
      'the reaper bills the meter',
      "settle.reason === 'lease-expired' ? hold.meter : settle.usage",
      'settle.usage',
      LEASES,
      'an abandoned hold is billed its last meter reading after its lease',
    ],
    ['late, and once in a batch', 'draft.reaped.delete(settle.holdId);', '', FOLD, 'the fold equals the serial model'],
    [
      'late, and what was too much is given back',
      'const due = cost - reaped.billed;',
      'const due = cost > reaped.billed ? cost - reaped.billed : 0n;',
      LATER,
      'a settlement after the reaper that costs less returns the difference, once',
    ],
    [
      'late, and given back before anything is charged',
      ', ...(due < 0n && { returned: giveBack(account.funds, reaped.charged, -due) }) };\n}\n\nfunction recordLate(draft: BatchDraft, { settle, reaped, account, usage, over, due, returned }: PendingLateSettlement): void {\n  const parts = returned ?? chargeLate(account.funds, due, leftForLate(draft, reaped));',
      ' };\n}\n\nfunction recordLate(draft: BatchDraft, { settle, reaped, account, usage, over, due }: PendingLateSettlement): void {\n  const parts = due < 0n ? giveBack(account.funds, reaped.charged, -due) : chargeLate(account.funds, due, leftForLate(draft, reaped));',
      LATER,
      'returned money pays for late settlements of the same batch',
    ],
    [
      'late, by its own account',
      'if (reaped?.accountId !== account.accountId) return undefined;',
      'if (!reaped) return undefined;',
      FOLD,
      'another account settles no hold that the reaper has ended',
    ],
  ],
  [`${HOLDS}/decide-reserve.ts`]: [
    [
      'closed is closed',
      "if (draft.settlements.has(holdId) || draft.detached.has(holdId)) return { status: 'closed', holdId };",
      '',
      LANES,
      'a reserve that arrives after its release is closed; the release can be repeated',
    ],
    [
      'an id holds what it was made for',
      'held.amount === BigInt(amountPicoUsd)',
      'true',
      LANES,
      'another reserve under the id of an open hold is closed',
    ],
    ['held is held', "if (held) return { status: 'held', holdId, leaseMs: times.leaseMs };", '', LANES, 'reserving again with the same id'],
    ['funds', 'amount > available || amount > HOLD_MAX', 'amount > HOLD_MAX', LANES, '200 parallel reserves'],
    [
      'the largest hold',
      'amount > available || amount > HOLD_MAX',
      'amount > available',
      LANES,
      'a hold of more than a million dollars is refused at any balance',
    ],
    ['the key is the project’s', 'key?.projectId !== project.projectId', 'key === undefined', FOLD, 'the fold equals the serial model'],
    ['an expired key is refused', 'key.expiresAt <= draft.now', 'key.expiresAt < draft.now', FOLD, 'the fold equals the serial model'],
    ['a disabled project', 'project.enabled && ', '', LANES, 'a disabled project is refused'],
    ['a frozen account', 'if (!account.active) return', 'if (false) return', LANES, 'a frozen account is refused'],
  ],
  [`${HOLDS}/hold.ts`]: [
    [
      'a cost is at most its hold',
      'return actual > hold.amount ?',
      'return actual < 0n ?',
      LANES,
      'a usage above the hold costs the hold; the excess is recorded and not charged',
    ],
    [
      'a hold is priced with its request and images',
      'const actual = costOf(usage, hold.price);',
      'const actual = costOf(usage, { ...hold.price, requestPicoUsd: 0n, images: 0 });',
      FOLD,
      'the fold equals the serial model',
    ],
    ['cached tokens are a part of the prompt', '...promptUsage(usage),', '...usage,', LANES, 'more cached tokens than prompt tokens'],
  ],
  [`${HOLDS}/batch-draft.ts`]: [
    [
      'a plan ends when its time has come',
      'const forfeit = endDueGrant(account.funds, draft.now);',
      'const forfeit = endDueGrant({ ...account.funds, grant: null }, draft.now);',
      FOLD,
      'the fold equals the serial model',
    ],
  ],
  // ---- writing ----
  [`${HOLDS}/write-rows.ts`]: [
    [
      'the price of a request is kept',
      'requestPicoUsd ?? null',
      'null',
      CACHED,
      'holds with the price of a request or an image are opened and settled',
    ],
    [
      'the images of a request are kept',
      'images ?? 0',
      '0',
      CACHED,
      'holds with the price of a request or an image are opened and settled',
    ],
    [
      'the price of writing to a cache is kept',
      'cacheWritePicoUsd ?? null',
      'null',
      WRITES_TO_CACHE,
      'batches under the lock and from memory keep prices and counts',
    ],
    [
      'tokens written to a cache are kept',
      'usage.cacheWriteTokens || null',
      'null',
      WRITES_TO_CACHE,
      'batches under the lock and from memory keep prices and counts',
    ],
    [
      'a hold that was not there',
      "billing.demand((SELECT count(*) FROM settled) = cardinality($2), 'a hold to end was not there')",
      'true',
      WRITES,
      'a hold to end',
    ],
    [
      'an account that was not there',
      "billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($35), 'an account was not there')",
      'true',
      WRITES,
      'an account',
    ],
    [
      'a project that was not there',
      "billing.demand((SELECT count(*) FROM changed_projects) = cardinality($43), 'a project was not there')",
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
      'rows of the previous version, with one source for both counts a settlement',
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
    [
      'an item fails alone',
      'partial ? outcome.catch',
      '!partial ? outcome.catch',
      APPLY,
      'in a partial message only the items of an account with a full queue fail',
    ],
  ],
  [`${HOLDS}/lane.ts`]: [
    [
      'the end of the queue',
      "if (this.queue.length >= queueMax) return 'The billing service is overloaded.';",
      '',
      LANE,
      'a full queue refuses at once, and close finishes the queued items',
    ],
    [
      'an owner’s share',
      '>= share.max',
      '>= Number.POSITIVE_INFINITY',
      LANE,
      'one owner cannot fill the queue: at most its share may wait',
    ],
    [
      'a share is given back',
      'for (const { item } of taken) this.countFor(item, -1);',
      '',
      LANE,
      'one owner cannot fill the queue: at most its share may wait',
    ],
    [
      'what is late is dropped',
      'deadline < now && isPerishable(item)',
      'false',
      LANE,
      'a perishable item past its deadline is dropped, any other is sent',
    ],
    [
      'halving a batch that is refused',
      'if (isFaultOfBatch(error)) return this.runHalves(pending, error);',
      'if (isFaultOfBatch(error)) { for (const { reject } of pending) reject(error as Error); return; }',
      LANE,
      'only the item that the database refuses fails, not its batch',
    ],
    [
      'sending again after a lost connection',
      '!sent || deadline <= now',
      'true',
      LANE,
      'a batch whose reply was lost after the commit is answered on the new connection',
    ],
  ],
  [`${HOLDS}/hold-lanes.ts`]: [
    [
      'a settle is never dropped',
      "'reserve' in request;\n    this.lanes",
      'true;\n    this.lanes',
      `${HOLDS}/hold-lanes.integration.test.ts`,
      'a settle past its deadline is still settled; a reserve is dropped',
    ],
  ],
  // ---- reaper ----
  [`${HOLDS}/database-clock.ts`]: [
    [
      'a clock set forward is noticed',
      'this.ahead.least > last.most + STEP_MS || ',
      '',
      CLOCK,
      'set forward by an hour: no running request is reaped',
    ],
    [
      'a clock set back is noticed',
      ' || this.ahead.most < last.least - STEP_MS',
      '',
      CLOCK,
      'set back by an hour: leases of running requests keep their length',
    ],
  ],
  [`${HOLDS}/reaper.ts`]: [
    [
      'a window begins without requests',
      '() => beginDueWindows(connection)',
      'async () => undefined',
      'apps/billing/src/budgets/begin-due-windows.integration.test.ts',
      'the reaper begins the next window without a request, and once',
    ],
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
      'a leader that renewals do not reach resigns to one that they reach',
    ],
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
    ['one reaper leads', 'return this.leading;\n  }\n\n  /** Releases', 'return true;\n  }\n\n  /** Releases', LEASES, 'one reaper leads'],
  ],
};
