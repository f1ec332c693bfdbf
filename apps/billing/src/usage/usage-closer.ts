import type { UsageRebuildReply } from '#contracts/billing/usage.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';
import { Rounds } from '../rounds.js';
import { runGuarded, YieldedToMigrationError } from '../sql/guard-check.js';
import { closeUsage, rebuildUsage } from './close-usage.js';

export interface UsageCloserOptions {
  /** Opens a connection for each round: the first one after an upgrade reads the whole journal, for minutes perhaps. */
  connect: () => Promise<PgConnection>;
  intervalMs: number;
  /** Called after each round with the time of the last slice, of any replica. */
  onClosed?: (at: Date) => void;
  logger: Logger;
}

/** Adds the journal to the rollups of usage on a schedule, and makes them anew on request. A round yields to a migration. */
export class UsageCloser {
  private readonly rounds: Rounds;
  private rebuilding: Promise<UsageRebuildReply> | undefined;
  private readonly stopping = new AbortController();

  constructor(private readonly options: UsageCloserOptions) {
    this.rounds = new Rounds(() => this.tick(), options.intervalMs);
  }

  start(): void {
    this.rounds.start();
  }

  async stop(): Promise<void> {
    // A round that is cancelled changes nothing.
    this.stopping.abort();
    await this.rounds.stop();
    await this.rebuilding?.catch(() => undefined);
  }

  /** One round. Never throws: the next round retries. */
  async tick(): Promise<void> {
    const { onClosed, logger } = this.options;
    try {
      const closedAt = await this.guarded(closeUsage);
      if (closedAt) onClosed?.(closedAt);
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      if (error instanceof YieldedToMigrationError) return logger.info('usage rollup cancelled: a migration waited for it');
      logger.warn({ err: error }, 'usage rollup failed');
    }
  }

  /** Returns the rebuild that is running, or starts one. */
  rebuild(): Promise<UsageRebuildReply> {
    this.rebuilding ??= this.rebuildOnce().finally(() => {
      this.rebuilding = undefined;
    });
    return this.rebuilding;
  }

  private async rebuildOnce(): Promise<UsageRebuildReply> {
    const start = performance.now();
    const rows = await this.guarded(rebuildUsage);
    return { ...rows, milliseconds: Math.round(performance.now() - start) };
  }

  private guarded<Result>(work: (connection: PgConnection) => Promise<Result>): Promise<Result> {
    return runGuarded(this.options.connect, this.stopping.signal, work);
  }
}
