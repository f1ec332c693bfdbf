/** One guard taken away, and the quick test that must notice. */
export interface Mutation {
  /** What is taken away. */
  name: string;
  file: string;
  /** Stands once in the file. */
  from: string;
  to: string;
  test: string;
  /** The beginning of the test's title, or a part of it. */
  title: string;
}

const HOLDS = 'apps/billing/src/holds';
const FOLD = `${HOLDS}/fold-batch.test.ts`;
const LANES = `${HOLDS}/hold-lanes.integration.test.ts`;
const LANE = `${HOLDS}/lane.integration.test.ts`;
const LEASES = `${HOLDS}/leases.integration.test.ts`;
const LATER = `${HOLDS}/late-settlements.integration.test.ts`;
const WRITES = `${HOLDS}/write-rows.integration.test.ts`;
const BUGS = 'apps/billing/test/known-bugs.integration.test.ts';
const ROLES = 'apps/billing/src/ledger/service-role.integration.test.ts';
const LEDGER = 'apps/billing/src/ledger/ledger.integration.test.ts';
const WINDOW = 'apps/billing/src/limits/request-window.test.ts';
const SERVICE = 'apps/billing/src/billing.integration.test.ts';
const KEEPER = 'apps/inference-proxy/src/leases/lease-keeper.test.ts';
const LATE = 'apps/inference-proxy/src/leases/late-settlements.test.ts';
const RUN = 'apps/inference-proxy/src/inference-run.test.ts';
const PIPELINE = 'apps/gateway/src/pipeline/run-inference.test.ts';

/** [what is taken away, from, to, test, title], by file. Constraints and triggers are taken away by constraints.integration.test.ts itself. */
const BY_FILE: Record<string, [name: string, from: string, to: string, test: string, title: string][]> = {
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
      '(reaping[position] ? undefined : endHold(book, settle, terms))',
      'endHold(book, settle, terms)',
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
      "if (expiring && hold.leaseUntil + terms.reaperGraceMs >= book.now) return 'unknown';",
      '',
      LEASES,
      'a renewal that comes before the reaper decides',
    ],
    ['the grace after a lease', 'hold.leaseUntil + terms.reaperGraceMs', 'hold.leaseUntil', LEASES, 'the grace after a lease'],
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
    ['held is held', "if (held) return { status: 'held', holdId, leaseMs: terms.leaseMs };", '', LANES, 'reserving again with the same id'],
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
  'apps/billing/src/ledger/funds.ts': [
    [
      'held plan money is not free',
      'return funds.plan - funds.planHeld;',
      'return funds.plan;',
      FOLD,
      'the fold does what the serial model does',
    ],
    [
      'held top-up money is not available',
      'freePlan(funds) + funds.topup - funds.topupHeld',
      'freePlan(funds) + funds.topup',
      FOLD,
      'the fold does what the serial model does',
    ],
    ['given back to the top-up first', 'const topup = min(excess, charged.topupCost);', 'const topup = 0n;', FOLD, 'the serial model'],
    [
      'nothing is given back to another grant',
      'charged.liveGrantId !== null && charged.liveGrantId === funds.grant?.id',
      'funds.grant !== null',
      FOLD,
      'the fold does what the serial model does',
    ],
    [
      'late, and only from what is free',
      'min(due - planCost, funds.topup - funds.topupHeld)',
      'due - planCost',
      LATER,
      'what a late settlement does not find',
    ],
    [
      'the plan goes first',
      'const plan = min(amount, freePlan(funds));',
      'const plan = 0n;',
      FOLD,
      'the fold does what the serial model does',
    ],
    ['an ended grant stays with its holds', 'funds.expired += funds.planHeld;', '', FOLD, 'the fold does what the serial model does'],
  ],
  'apps/billing/src/ledger/read-balance.ts': [
    ['a plan whose time is over is in no balance', 'endDueGrant(funds, now);', '', LEDGER, 'plan'],
  ],
  'apps/billing/src/limits/request-window.ts': [
    ['a window is 60 seconds', 'lastAt + WINDOW_MS > now);', 'lastAt + WINDOW_MS - 1_000 > now);', WINDOW, ''],
    [
      'a counter remembers its last request',
      'window.with(-1, [at, last[1] + 1])',
      'window.with(-1, [last[0], last[1] + 1])',
      WINDOW,
      'a second of requests counts',
    ],
    ['a clock that steps back stands still', 'Math.max(now, last[0])', 'now', WINDOW, ''],
    [
      'Retry-After is not early',
      'Math.ceil((lastAt + WINDOW_MS - now) / 1_000)',
      'Math.floor((lastAt + WINDOW_MS - now) / 1_000)',
      WINDOW,
      '',
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
      "billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($31), 'an account was not there')",
      'true',
      WRITES,
      'an account',
    ],
    [
      'a project that was not there',
      "billing.demand((SELECT count(*) FROM changed_projects) = cardinality($39), 'a project was not there')",
      'true',
      WRITES,
      'a project',
    ],
  ],
  // ---- lanes ----
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
  [`${HOLDS}/reaper.ts`]: [
    [
      'leases are extended after an interruption',
      'if (this.wasInterrupted()) return await this.extendLeases(connection);',
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
    ['one reaper leads', 'return this.leading;\n  }\n\n  /** Leaves', 'return true;\n  }\n\n  /** Leaves', LEASES, 'one reaper leads'],
  ],
  'libs/contracts/src/billing/holds.ts': [
    [
      'the reaper’s reason is nobody else’s',
      "'client-left', 'released'] as const;",
      "'client-left', 'released', 'lease-expired'] as const;",
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
      'setting the users up again',
    ],
  ],
  // ---- whoever survives settles ----
  'apps/inference-proxy/src/leases/lease-keeper.ts': [
    ['the proxy fences itself', 'now - lease.renewedAt >= lease.ticket.leaseMs * 0.75', 'false', KEEPER, 'without acknowledgement'],
    [
      'a hold that is not open is lost',
      "if (!renewed.has(holdId)) this.lose(lease, 'the hold is no longer open');",
      'if (!renewed.has(holdId)) continue;',
      KEEPER,
      'a hold that is no longer open',
    ],
    ['a revoked key stops its requests', 'else if (stop.has(holdId))', 'else if (false)', KEEPER, 'a request whose key was revoked'],
    ['it asks whether the ended are settled', 'if (open.has(holdId)) tell();', ';', KEEPER, 'asks once, a while after its end'],
    [
      'it asks until there is an answer',
      'this.ended = [...ended, ...this.ended].slice(-REMEMBERED_MAX);',
      '',
      KEEPER,
      'asks again about what has ended',
    ],
  ],
  'apps/inference-proxy/src/leases/late-settlements.ts': [
    [
      'a late settlement is asked for again',
      'if (this.closing.signal.aborted) return;',
      'return;',
      LATE,
      'asks again when billing is away',
    ],
    [
      'a gateway that lives settles itself',
      'if (!(await gateway.callerIsThere())) {',
      'if (await gateway.callerIsThere().then(() => true)) {',
      LATE,
      'a gateway that lives is left to settle',
    ],
    [
      'what is settled is forgotten',
      'if (!(await this.isOpen(holdId))) return;',
      'await this.isOpen(holdId);',
      LATE,
      'a hold that its gateway has settled',
    ],
  ],
  'apps/inference-proxy/src/inference-run.ts': [
    [
      'the proxy settles what its reader has left',
      'this.dependencies.settlements.schedule(() => this.settlement(), this.reader);',
      '',
      RUN,
      'what a reader has left',
    ],
    [
      'the proxy settles what nobody has',
      'else this.endLease(settleWith(settlements, this.settlement(), this.reader));',
      'else this.endLease();',
      RUN,
      'what a gateway leaves unsettled',
    ],
    [
      'a revoked key stops the upstream',
      'this.loss = loss;\n        this.stop.abort(',
      'this.loss = loss;\n        Error(',
      RUN,
      'a lease that is revoked',
    ],
  ],
  'apps/gateway/src/pipeline/settle-on-end.ts': [
    [
      'a settlement is asked for until it is safe',
      'await delay(pauseMs / 2 + (Math.random() * pauseMs) / 2);',
      'return undefined;',
      PIPELINE,
      'billing that is down at the end',
    ],
    [
      'the client waits only so long',
      'setTimeout(() => resolve(undefined), this.answerMs)',
      'setTimeout(() => resolve(undefined), 1_000 * this.answerMs)',
      PIPELINE,
      'billing that is down at the end',
    ],
  ],
  'apps/gateway/src/pipeline/run-inference.ts': [
    ['settle, then finish', 'const outcome = await settle(', 'const outcome = settle(', PIPELINE, 'the reply is finished only when'],
    [
      'a hold nobody knows of is released',
      "() => void services.settlements.settle({ holdId, accountId: call.caller.accountId, reason: 'released' }),",
      '() => undefined,',
      PIPELINE,
      'of which nobody knows',
    ],
  ],
};

export const MUTATIONS: Mutation[] = Object.entries(BY_FILE).flatMap(([file, mutations]) =>
  mutations.map(([name, from, to, test, title]) => ({ name, file, from, to, test, title })),
);
