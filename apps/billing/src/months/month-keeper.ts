import type { PrismaClient } from '#database/prisma-client.js';
import type { Logger } from '#observability/logger.js';
import { Rounds } from '../rounds.js';

/** Months from now whose partitions of the journals exist: time to notice when none can be added. */
const MONTHS_AHEAD = 3;
const INTERVAL_MS = 3_600_000;

/** Adds the partitions of the journals for the months to come. All replicas do so: the first one adds, the others find nothing missing. */
export class MonthKeeper {
  private readonly rounds = new Rounds(() => this.tick(), INTERVAL_MS);

  constructor(
    private readonly prisma: PrismaClient,
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
}
