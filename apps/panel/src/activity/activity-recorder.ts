import type { Counter } from 'prom-client';
import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { MARK_MS, Recording } from './recording.js';
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
    // What is only counted needs no names, which may be long.
    return { request: hasRow ? request : { ...request, attribution: undefined }, hasRow };
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

/** Rows that refusals of one key with one status and code have in a minute. */
export const REFUSED_ROWS_MAX = 10;
/** Keys and codes of a minute in memory, some 15 MB. Refusals beyond are only counted. */
const KINDS_MAX = 50_000;
const MINUTE_MS = 60_000;

/**
 * Decides which requests have a row of their own. A refused request costs its sender nothing, so a key without money could fill the disk:
 * the first of a key and code in a minute have a row, the others only count in the traffic. So does every request without a valid key,
 * because anyone can send it.
 */
class RefusedRows {
  private readonly rows = new Map<string, number>();
  private minute = 0;

  constructor(private readonly now: () => number = Date.now) {}

  admits(request: EndedRequest): boolean {
    const { accountId, keyId, status, code, outcome, holdId } = request;
    if (accountId === undefined) return false;
    if (outcome !== undefined || holdId !== undefined) return true;
    const minute = Math.floor(this.now() / MINUTE_MS);
    if (minute !== this.minute) this.rows.clear();
    this.minute = minute;
    const kind = `${keyId} ${status} ${code}`;
    const rows = this.rows.get(kind) ?? 0;
    if (rows >= REFUSED_ROWS_MAX || (rows === 0 && this.rows.size >= KINDS_MAX)) return false;
    this.rows.set(kind, rows + 1);
    return true;
  }
}
