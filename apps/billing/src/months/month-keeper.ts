import { serviceAuthor } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Logger } from '#observability/logger.js';
import { MonthsBusyError } from '../journal/closed-months.js';
import { Rounds } from '../rounds.js';
import { YieldedToMigrationError } from '../sql/guard-check.js';
import type { Months } from './months.js';

/** Months from now whose partitions of the journals exist: time to notice when none can be added. */
const MONTHS_AHEAD = 3;
const INTERVAL_MS = 3_600_000;

/**
 * Adds the partitions of the journals for the months to come, and closes months that are over: one an hour, so that the first ones of an old
 * journal do not load the database all at once. All replicas do so: the first one does it, the others find nothing to do.
 */
export class MonthKeeper {
  private readonly rounds = new Rounds(() => this.tick(), INTERVAL_MS);

  constructor(
    private readonly prisma: PrismaClient,
    private readonly months: Pick<Months, 'closeDue'>,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** One round. Never throws: the next round retries. */
  async tick(): Promise<void> {
    await this.addPartitions();
    await this.closeMonth();
  }

  private async addPartitions(): Promise<void> {
    try {
      const [kept] = await this.prisma.$queryRaw<
        { added: string[]; outside: bigint }[]
      >`SELECT * FROM billing.keep_months(${MONTHS_AHEAD}::integer)`;
      if (kept?.added.length) this.logger.info({ months: kept.added }, 'partitions of the journals added');
      if (kept?.outside)
        this.logger.warn({ settlements: Number(kept.outside) }, 'settlements in the default partition: their hold ids are of no month');
    } catch (error) {
      this.logger.warn({ err: error }, 'adding partitions of the journals failed');
    }
  }

  private async closeMonth(): Promise<void> {
    try {
      const closed = await this.months.closeDue(serviceAuthor('billing', this.logger));
      if (closed) this.logger.info({ month: closed.month, monthDigest: closed.digest }, 'month closed');
    } catch (error) {
      const isLater = error instanceof MonthsBusyError || error instanceof YieldedToMigrationError;
      if (isLater || (error as Error).name === 'AbortError') return;
      this.logger.warn({ err: error }, 'closing the last month failed');
    }
  }
}
