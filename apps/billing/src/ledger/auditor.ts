import type { LedgerCheckReply } from '#contracts/billing/ledger.js';
import { serviceAuthor } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';
import { KEY_IS_ACTIVE } from '../payer/key-status.js';
import { Rounds } from '../rounds.js';
import { guardCheck, YieldedToMigrationError } from '../sql/guard-check.js';
import { Leadership } from '../sql/leadership.js';
import { type CheckOptions, checkLedger } from './check-ledger.js';
import { freezeAccounts } from './freeze-accounts.js';
import { INVARIANTS } from './invariants.js';
import { keepReport } from './ledger-reports.js';
import { writeFaultEvents } from './write-fault-events.js';

export interface AuditorOptions {
  /** Opens a connection for each caller: a check keeps a snapshot open, for minutes perhaps. */
  connect: () => Promise<PgConnection>;
  /** Milliseconds that a hold may be open after its lease. */
  overdueMs: number;
  intervalMs: number;
  /** Called after each scheduled check. */
  onChecked?: (report: LedgerCheckReply, counts: WatchedCounts) => void;
  /** Called when another replica checks. */
  onFollowing?: () => void;
  logger: Logger;
}

/** Rows that operators watch beside the violations. */
export interface WatchedCounts {
  accountsFrozen: number;
  /** Active keys without a successor that expire within a week. */
  keysExpiring: number;
  /** Months that ended more than a week ago and are not closed. */
  monthsOverdue: number;
}

/** Advisory lock of the one active auditor. */
const LEADER_LOCK = 7_243_003;

/**
 * Checks the ledger on request, and on a schedule by one replica at a time. A scheduled check freezes an account whose money is wrong: its
 * reserves are refused, its running requests are stopped at their next lease renewal and billed for what they received, until an operator
 * who has found the cause activates it. It also writes an event for each account with a fault. A requested check freezes nothing and writes
 * no event. Both keep their report.
 */
export class Auditor {
  private readonly leadership: Leadership;
  private readonly rounds: Rounds;
  private readonly stopping = new AbortController();
  private readonly requested = new Set<Promise<unknown>>();
  private readonly checks = { partial: shared(() => this.checkOnce(false)), full: shared(() => this.checkOnce(true)) };

  constructor(private readonly options: AuditorOptions) {
    const { connect, intervalMs } = options;
    this.rounds = new Rounds(() => this.tick(), intervalMs);
    this.leadership = new Leadership({ lock: LEADER_LOCK, connect, idleMs: 3 * intervalMs });
  }

  /** Starts the schedule, if there is one. */
  start(): void {
    if (this.options.intervalMs > 0) this.rounds.start();
  }

  async stop(): Promise<void> {
    // A check may take minutes and changes nothing, so it is cancelled.
    this.stopping.abort();
    await this.rounds.stop();
    await Promise.allSettled(this.requested);
    await this.leadership.close();
  }

  /** Returns a check that starts now or, when one is running, after it; one for all callers that wait. `full` reads closed months again. */
  check({ full = false }: { full?: boolean } = {}): Promise<LedgerCheckReply> {
    const report = full ? this.checks.full() : this.checks.partial();
    this.requested.add(report);
    report.catch(() => undefined).finally(() => this.requested.delete(report));
    return report;
  }

  /** One round. Never throws: the next round retries. */
  async tick(): Promise<void> {
    const { logger } = this.options;
    try {
      if (!(await this.leadership.lead())) {
        await this.leadership.close(); // a follower needs no connection between its rounds
        return this.options.onFollowing?.();
      }
      const connection = await this.leadership.connection();
      const report = await this.checkOn(connection, { scheduled: true });
      const { milliseconds, checked, auditDigest, monthDigest, invariants, violations } = report;
      const broken = invariants.filter((invariant) => invariant.violations > 0);
      if (violations.length === 0) logger.info({ milliseconds, ...checked, auditDigest, monthDigest }, 'ledger check passed');
      else logger.error({ milliseconds, broken, violations }, 'LEDGER CHECK FAILED');
      const newlyFrozen = await freezeAccounts(connection, accountsToFreeze(report), serviceAuthor('billing', logger));
      if (newlyFrozen.length > 0) logger.error({ accounts: newlyFrozen }, 'accounts frozen by the ledger check');
      this.options.onChecked?.(report, await countWatched(connection));
      await writeFaultEvents(connection, report);
    } catch (error) {
      if (error instanceof YieldedToMigrationError) return logger.info('ledger check cancelled: a migration waited for it');
      if (this.stopping.signal.aborted) return;
      logger.warn({ err: error }, 'ledger check failed to complete');
      void this.leadership.close();
    }
  }

  private async checkOnce(full: boolean): Promise<LedgerCheckReply> {
    this.stopping.signal.throwIfAborted();
    const connection = await this.options.connect();
    try {
      return await this.checkOn(connection, { full });
    } finally {
      await connection.end().catch(() => undefined);
    }
  }

  private async checkOn(connection: PgConnection, options: CheckOptions): Promise<LedgerCheckReply> {
    const { connect, overdueMs } = this.options;
    const guard = { connection, connect, stopping: this.stopping.signal };
    const report = await guardCheck(guard, (signal) => checkLedger(connection, overdueMs, { ...options, signal }));
    await keepReport(connection, report);
    return report;
  }
}

/** Returns a function that starts `work` now or, while it runs, after it; once for all callers that wait. */
function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let waiting: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    if (!running) {
      running = work().finally(() => {
        running = undefined;
      });
      return running;
    }
    const again = (): Promise<Result> => {
      waiting = undefined;
      return start();
    };
    waiting ??= running.then(again, again);
    return waiting;
  };
  return start;
}

/** Returns the reason by account, for violations that freeze their account. */
function accountsToFreeze({ violations }: LedgerCheckReply): ReadonlyMap<string, string> {
  const freezing = new Set(INVARIANTS.filter(({ freezesAccount }) => freezesAccount).map(({ id }) => id));
  const reasons = new Map<string, Set<string>>();
  for (const { invariant, accountId } of violations) {
    if (accountId === null || !freezing.has(invariant)) continue;
    reasons.set(accountId, (reasons.get(accountId) ?? new Set()).add(invariant));
  }
  return new Map(Array.from(reasons, ([accountId, broken]) => [accountId, `ledger check: ${[...broken].join(', ')}`]));
}

/** Start of the first month that is not closed, in UTC; null while nothing was ever booked. */
const FIRST_OPEN_MONTH = `SELECT coalesce(
  (SELECT to_date(max(id), 'YYYY-MM') + interval '1 month' FROM billing.month),
  date_trunc('month', least((SELECT min(created_at) FROM billing.movement), (SELECT min(hour) FROM billing.usage_hour)) AT TIME ZONE 'UTC'))`;

async function countWatched(connection: PgConnection): Promise<WatchedCounts> {
  const { rows } = await connection.query<WatchedCounts>(
    `SELECT (SELECT count(*)::int FROM billing.account WHERE status = 'frozen') AS "accountsFrozen",
       (SELECT count(*)::int FROM billing.api_key k
        WHERE ${KEY_IS_ACTIVE} AND k.expires_at < clock_timestamp() + interval '7 days' AND k.replaced_by IS NULL) AS "keysExpiring",
       (SELECT greatest(0, extract(year FROM age) * 12 + extract(month FROM age))::int
        FROM age(date_trunc('month', (clock_timestamp() - interval '7 days') AT TIME ZONE 'UTC'), (${FIRST_OPEN_MONTH}))) AS "monthsOverdue"`,
  );
  return rows[0] as WatchedCounts;
}
