import type { Counter } from 'prom-client';
import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { MARK_MS, Recording } from './recording.js';
import { RefusedRows } from './refused-rows.js';
import { type CountedRequest, writeRequests } from './write-requests.js';

const WRITE_MS = 1_000;
/** Requests of one statement: a larger one would hold its locks for longer. */
const BATCH_MAX = 1_000;
/** Requests that wait for the database, some 20 MB. Further ones are dropped. */
const WAITING_MAX = 20_000;
/** Partitions reach two days ahead, so any shorter time will do. */
const CHORES_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** All replicas share the work. */
const QUEUE = 'panel';

/** Records the requests that gateways report. While it is away, activity is missing; nothing else notices. */
export class ActivityRecorder {
  private waiting: CountedRequest[] = [];
  private readonly refusedRows = new RefusedRows();
  private readonly recording: Recording;
  private working: Promise<void> | undefined;
  private choresAt = 0;
  private markAt = 0;
  private stop: () => void = () => undefined;

  constructor(
    private readonly prisma: PrismaClient,
    private readonly messaging: Messaging,
    private readonly logger: Logger,
    private readonly metrics: Record<'activityDropped' | 'refusalsSummed', Pick<Counter, 'inc'>>,
    /** Days for which requests are kept. */
    private readonly days: number,
  ) {
    this.recording = new Recording(prisma);
  }

  /** Nest lifecycle hook. */
  onModuleInit(): void {
    const unsubscribe = this.messaging.subscribe(requestsEnded, ({ requests }) => this.take(requests), { queue: QUEUE });
    this.messaging.onReconnect(() => this.recording.interrupt());
    const timer = setInterval(() => void (this.working ?? this.flush()), WRITE_MS);
    this.stop = () => {
      unsubscribe();
      clearInterval(timer);
    };
  }

  /** Nest lifecycle hook: writes what waits. */
  async onApplicationShutdown(): Promise<void> {
    this.stop();
    this.markAt = 0;
    await this.flush();
  }

  /** Writes what waits, also what came during the last write. A failure is logged, and the next call tries again. */
  async flush(): Promise<void> {
    await this.working;
    this.working ??= this.work()
      .catch((err: unknown) => this.logger.warn({ err, waiting: this.waiting.length }, 'activity not written: trying again'))
      .finally(() => {
        this.working = undefined;
      });
    await this.working;
  }

  private take(requests: readonly EndedRequest[]): void {
    const room = WAITING_MAX - this.waiting.length;
    for (const request of requests.slice(0, room)) this.waiting.push(this.toCounted(request));
    if (requests.length > room) this.lose(requests.length - room);
  }

  /** Decided once, so that a write that is repeated has the same rows. */
  private toCounted(request: EndedRequest): CountedRequest {
    const hasRow = this.refusedRows.admits(request);
    if (!hasRow && request.accountId !== undefined) this.metrics.refusalsSummed.inc({ journal: 'activity' });
    return { request, hasRow };
  }

  private lose(count: number): void {
    this.metrics.activityDropped.inc(count);
    this.recording.interrupt();
  }

  private async work(): Promise<void> {
    const now = Date.now();
    if (now >= this.choresAt) {
      await this.prisma.$executeRaw`SELECT activity.keep_days(${this.days}::integer)`;
      this.choresAt = now + CHORES_MS;
    }
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, BATCH_MAX);
      await writeRequests(this.prisma, batch.filter(hasPartition(now)));
      this.waiting = this.waiting.slice(batch.length);
    }
    if (now < this.markAt) return;
    if (this.messaging.connected) await this.recording.mark();
    else this.recording.interrupt();
    this.markAt = now + MARK_MS;
  }
}

/** A gateway whose clock is days off must not stop the others. */
function hasPartition(now: number): (counted: CountedRequest) => boolean {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return ({ request: { receivedAt } }) => Date.parse(receivedAt) >= today - DAY_MS && Date.parse(receivedAt) < today + 2 * DAY_MS;
}
