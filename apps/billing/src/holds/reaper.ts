import { serviceAuthor } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';
import { ownTraceId } from '#tracing/trace-context.js';
import type { HoldTimes } from '../batch/batch.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { beginDueWindows } from '../budgets/begin-due-windows.js';
import { sweepBudgetValues } from '../budgets/sweep-budget-values.js';
import { grantDuePlans } from '../ledger/grant-due-plans.js';
import { Leadership } from '../sql/leadership.js';
import { DatabaseClock } from './database-clock.js';

export interface ReaperOptions {
  connect: () => Promise<PgConnection>;
  lanes: Pick<HoldLanes, 'settle' | 'sweep' | 'waitingMs'>;
  times: HoldTimes;
  intervalMs: number;
  /** Milliseconds between sweeps for plans that have ended. Balances are correct without a sweep; it only writes the rows. */
  sweepIntervalMs: number;
  /** True when a renewal can reach this service and its table now. */
  renewalsArrive: () => Promise<boolean>;
  /** Gets the number of open holds of all accounts and the money that they hold; a float, for graphs only. */
  onOpenHolds?: (count: number, picoUsd: number) => void;
  logger: Logger;
}

/** Advisory lock of the one active reaper. */
const LEADER_LOCK = 7_243_001;
const BATCH_MAX = 1_000;
/** A settle that waits longer shows a backlog: the reaper must not end its hold first. */
const BACKLOG_MS = 1_000;
/** At least so long may the session of the leader be idle: a long pause of the process costs the lock. */
const LEADER_IDLE_MIN_MS = 30_000;

/**
 * Ends holds whose lease and grace are over, ends plans whose time is over, grants plans that are due, and begins windows of budgets.
 * One replica leads at a time, which only saves work: the lanes end a hold once, and only after lease and grace.
 *
 * A lease may expire only while it could be renewed. After this service, NATS or Postgres was unavailable, every lease is restarted before
 * anything is reaped, so that services can settle first: it ends `leaseMs` from now, or at its old end if that is later. After the
 * database's clock was set, an old end is not kept. While a request has waited longer than `BACKLOG_MS` in a lane of this replica, nothing
 * is reaped.
 */
export class Reaper {
  private readonly leadership: Leadership;
  /**
   * The last interruption for which the leases were not restarted yet. A start counts as one: billing may have been down. Times are on the
   * process's monotonic clock.
   */
  private interruption: { at: number; clockWasSet: boolean } | undefined = { at: performance.now(), clockWasSet: false };
  private readonly clock = new DatabaseClock();
  private lastTickAt = performance.now();
  private lastSweepAt = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private ticking: Promise<void> | undefined;

  constructor(private readonly options: ReaperOptions) {
    this.leadership = new Leadership({
      lock: LEADER_LOCK,
      connect: options.connect,
      idleMs: Math.max(LEADER_IDLE_MIN_MS, 3 * options.intervalMs),
      onLost: (error) => {
        options.logger.warn({ err: error }, 'reaper lost its database connection');
        this.interrupted();
      },
    });
  }

  start(): void {
    this.timer = setInterval(() => {
      this.ticking ??= this.tick().finally(() => {
        this.ticking = undefined;
      });
    }, this.options.intervalMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.ticking;
    await this.leadership.close();
  }

  /** One round. Never throws: the next round retries. */
  async tick(): Promise<void> {
    try {
      const renewalsArrive = await this.noticeInterruption();
      const connection = await this.leadership.connection();
      await this.noticeClock(connection);
      await this.countHolds(connection);
      if (!renewalsArrive) return await this.leadership.resign();
      if (!(await this.leadership.lead())) return;
      const interruption = this.recentInterruption();
      if (interruption) return await this.extendLeases(connection, interruption.clockWasSet);
      if (this.options.lanes.waitingMs <= BACKLOG_MS) await this.reap(connection);
      await this.sweep(connection);
      await this.attempt('granting due plans failed', () => grantDuePlans(connection, serviceAuthor('billing', this.options.logger)));
      await this.attempt('beginning windows of budgets failed', () => beginDueWindows(connection));
    } catch (error) {
      this.interrupted();
      this.options.logger.warn({ err: error }, 'reaper round failed');
    }
  }

  /** Detects that the process stood still, by a late round. Returns true when renewals arrive now. */
  private async noticeInterruption(): Promise<boolean> {
    const stoodStill = performance.now() - this.lastTickAt > 2 * this.options.intervalMs + 1_000;
    const renewalsArrive = await this.options.renewalsArrive();
    this.lastTickAt = performance.now();
    if (stoodStill || !renewalsArrive) this.interrupted();
    return renewalsArrive;
  }

  private async noticeClock(connection: PgConnection): Promise<void> {
    if (!(await this.clock.wasSet(connection))) return;
    this.interrupted(true);
    this.options.logger.warn('database clock was set; the leading reaper restarts all leases');
  }

  private interrupted(clockWasSet = false): void {
    this.interruption = { at: performance.now(), clockWasSet: clockWasSet || this.interruption?.clockWasSet === true };
  }

  /**
   * Forgets an interruption older than lease and grace: this replica did not lead since, and the replica that led has restarted the leases.
   */
  private recentInterruption(): { clockWasSet: boolean } | undefined {
    const { leaseMs, reaperGraceMs } = this.options.times;
    if (this.interruption && performance.now() - this.interruption.at > leaseMs + reaperGraceMs) this.interruption = undefined;
    return this.interruption;
  }

  /**
   * Restarts all leases. A lease that ends later than the new end was granted under a longer `LEASE_MS` and is kept, unless the clock was
   * set or `created_at` lies in the future.
   */
  private async extendLeases(connection: PgConnection, clockWasSet: boolean): Promise<void> {
    const { rowCount } = await connection.query(
      `WITH locked AS MATERIALIZED (SELECT id FROM billing.hold ORDER BY id FOR UPDATE)
       UPDATE billing.hold h SET lease_until = CASE WHEN $2 OR h.created_at > clock_timestamp() THEN fresh.lease
         ELSE greatest(h.lease_until, fresh.lease) END
       FROM locked, (SELECT clock_timestamp() + $1 * interval '1 millisecond' AS lease) fresh WHERE h.id = locked.id`,
      [this.options.times.leaseMs, clockWasSet],
    );
    this.interruption = undefined;
    if (rowCount) this.options.logger.info({ holds: rowCount }, 'leases extended after an interruption');
  }

  private async reap(connection: PgConnection): Promise<void> {
    const { rows } = await connection.query<{
      id: string;
      account_id: string;
      key_id: string;
      request_id: string;
      trace_id: string | null;
    }>(
      `SELECT id, account_id, key_id, request_id, replace(trace_id::text, '-', '') AS trace_id FROM billing.hold
       WHERE lease_until < clock_timestamp() - $1 * interval '1 millisecond' ORDER BY lease_until LIMIT ${BATCH_MAX}`,
      [this.options.times.reaperGraceMs],
    );
    await Promise.all(
      rows.map(async ({ id: holdId, account_id: accountId, key_id: keyId, request_id: requestId, trace_id: traceId }) => {
        const { status } = await this.options.lanes.settle({ holdId, accountId, reason: 'lease-expired' });
        if (status !== 'settled') return;
        this.options.logger.warn({ requestId, traceId: traceId ?? ownTraceId(requestId), keyId, holdId }, 'lease expired: hold reaped');
      }),
    );
  }

  private async sweep(connection: PgConnection): Promise<void> {
    if (performance.now() - this.lastSweepAt < this.options.sweepIntervalMs) return;
    this.lastSweepAt = performance.now();
    const { rows } = await connection.query<{ id: string }>(
      `SELECT id FROM billing.account WHERE grant_ends_at <= clock_timestamp() LIMIT ${BATCH_MAX}`,
    );
    await Promise.all(rows.map(({ id }) => this.options.lanes.sweep(id)));
    await sweepBudgetValues(connection);
  }

  /** Logs a failure instead of throwing it: leases do not depend on this work, and the next round retries. */
  private async attempt(failed: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.options.logger.warn({ err: error }, failed);
    }
  }

  private async countHolds(connection: PgConnection): Promise<void> {
    const { rows } = await connection.query<{ count: number; held: number }>(
      'SELECT count(*)::int AS count, coalesce(sum(amount), 0)::float8 AS held FROM billing.hold',
    );
    this.options.onOpenHolds?.(rows[0]?.count ?? 0, rows[0]?.held ?? 0);
  }
}
