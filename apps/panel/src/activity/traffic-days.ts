import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import type { Logger } from '#observability/logger.js';

/** Milliseconds between two looks for a day to add up: an index tells that there is none. */
const ROUND_MS = 60_000;
/** Milliseconds without a try after one that failed: a day that is too large for one statement must not load the database for ever. */
const RETRY_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Start of the first day that has sums, in SQL. Hours are kept for 400 days: the day before it loses them one by one. */
const FIRST_DAY = Prisma.sql`date_trunc('day', now() - interval '9576 hours', 'UTC')`;

/**
 * Adds up the hours of traffic of whole days (UTC), of which a read of a month then needs not all. Days are added up in their order, each
 * in one statement, so all days from the first to the last in the table are complete. Replicas may do the same day at once: one waits for
 * the other and adds nothing. The recorder does not wait for this.
 */
export class TrafficDays {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private dueAt = 0;
  private isStopping = false;

  constructor(
    private readonly prisma: PrismaClient,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** Called by Nest. */
  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.round(), ROUND_MS).unref();
  }

  /** Called by Nest. Waits for the day that is being added up. */
  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.timer);
    await this.running;
  }

  /** Adds up all days that are due, and deletes old ones. Never throws: a later round tries again. */
  round(): Promise<void> {
    this.running ??= this.addDays().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async addDays(): Promise<void> {
    if (Date.now() < this.dueAt) return;
    try {
      await this.prisma.$executeRaw`DELETE FROM activity.traffic_day WHERE at < ${FIRST_DAY}`;
      while (!this.isStopping && (await addNextDay(this.prisma)));
    } catch (err) {
      this.dueAt = Date.now() + RETRY_MS;
      this.logger.warn({ err }, 'traffic of a day not added up: trying again');
    }
  }
}

/**
 * Adds up the hours of the first day after those in the table. Returns false when none is due.
 *
 * A day is due when two more have ended, by the clock of the database: the recorder leaves out requests that were received before yesterday,
 * so its hours have not changed for a day.
 */
async function addNextDay(prisma: PrismaClient): Promise<boolean> {
  const [span] = await prisma.$queryRaw<{ next: Date; end: Date }[]>`
    SELECT greatest(max(at) + interval '24 hours', ${FIRST_DAY}) AS next,
           date_trunc('day', now(), 'UTC') - interval '48 hours' AS end
    FROM activity.traffic_day`;
  if (!span || span.next >= span.end) return false;
  if (await addDay(prisma, span.next)) return true;
  // It has no traffic: the next one that has some.
  const [found] = await prisma.$queryRaw<{ day: Date | null }[]>`
    SELECT date_trunc('day', min(at), 'UTC') AS day FROM activity.traffic_hour WHERE at >= ${span.next} AND at < ${span.end}`;
  return found?.day ? addDay(prisma, found.day) : false;
}

/** Returns false when there is nothing to add: no traffic, or another replica was first. */
async function addDay(prisma: PrismaClient, day: Date): Promise<boolean> {
  const added = await prisma.$executeRaw`
    INSERT INTO activity.traffic_day (account_id, at, project_id, key_id, model, property, value, requests)
    SELECT account_id, ${day}::timestamptz, project_id, key_id, model, property, value, sum(requests)
    FROM activity.traffic_hour WHERE at >= ${day} AND at < ${new Date(day.getTime() + DAY_MS)}
    GROUP BY 1, 3, 4, 5, 6, 7 ORDER BY 1, 3, 4, 5, 6, 7
    ON CONFLICT (account_id, at, project_id, key_id, model, property, value) DO NOTHING`;
  return added > 0;
}
