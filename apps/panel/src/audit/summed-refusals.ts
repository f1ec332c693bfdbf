import type { Counter } from 'prom-client';
import type { Author } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Logger } from '#observability/logger.js';
import { type JournalEntry, journaled, record } from './journaled.js';

/** Rows of one sender and action in a minute: enough to see what was tried. Further refusals are summed. */
export const REFUSAL_ROWS_MAX = 10;
/** Senders and actions of a minute in memory, some 10 MB. Those beyond have one sum for each action. */
const SENDERS_MAX = 10_000;
/** Routes that a sum names; the others are counted together. */
const TARGETS_MAX = 100;
const OTHERS = 'others';
/** Sums of one transaction. The rows of a journal are written one after another. */
const BATCH_MAX = 100;
const MINUTE_MS = 60_000;
const WRITE_MS = 5_000;

/** A refusal without what changed, since nothing did. */
export type Refusal = Pick<JournalEntry, 'action' | 'target' | 'reason'>;

interface RefusalOptions {
  /** The sender whose refusals are summed: a person, a token, or the address of a caller without credentials. */
  by: string;
  /** Names the target in a sum, where ids would make one target of each request. Default: `target`. */
  summedAs?: string;
}

/** Refusals of one sender and action in one minute. */
interface Minute {
  action: string;
  caller: Author['caller'];
  endsAt: number;
  rows: number;
  /** Refusals without a row of their own, by target. */
  summed: Map<string, number>;
}

/**
 * Writes refusals to the journal. The first ones of a sender and action in a minute have a row each. The others of the minute have one row
 * together, with their number, when the minute ends or the panel stops: a journal keeps its rows for ever, and anyone can be refused.
 */
export class SummedRefusals {
  private readonly minutes = new Map<string, Minute>();
  private ended: Minute[] = [];
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly prisma: PrismaClient,
    private readonly logger: Logger,
    private readonly summed: Pick<Counter, 'inc'>,
    private readonly now: () => number = Date.now,
  ) {}

  /** Nest lifecycle hook. */
  onModuleInit(): void {
    this.timer = setInterval(() => void this.writeEnded(), WRITE_MS);
  }

  /** Nest lifecycle hook: writes the sums of the minute that has begun. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    this.endMinutes(Number.POSITIVE_INFINITY);
    await this.writing;
    await this.writeEnded();
  }

  /** Resolves when the row is written, or at once for a refusal that is summed. */
  async record(author: Author, refusal: Refusal, { by, summedAs = refusal.target }: RefusalOptions): Promise<void> {
    const minute = this.findMinute(author, refusal.action, by);
    if (minute.rows < REFUSAL_ROWS_MAX) {
      minute.rows++;
      return record(this.prisma, author, refusal);
    }
    const target = minute.summed.has(summedAs) || minute.summed.size < TARGETS_MAX ? summedAs : OTHERS;
    minute.summed.set(target, (minute.summed.get(target) ?? 0) + 1);
    this.summed.inc({ journal: 'audit' });
  }

  /** Writes the sums of the minutes that have ended. A failure is logged, and the next call tries again. */
  writeEnded(): Promise<void> {
    this.endMinutes(this.now());
    this.writing ??= this.write().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  private findMinute({ caller }: Author, action: string, by: string): Minute {
    const name = `${action} ${by}`;
    const found = this.minutes.get(name);
    if (found && this.now() < found.endsAt) return found;
    if (found) this.end(name, found);
    const isOther = this.minutes.size >= SENDERS_MAX;
    const key = isOther ? `${action} ${OTHERS}` : name;
    const shared = isOther ? this.minutes.get(key) : undefined;
    if (shared) return shared;
    const minute: Minute = {
      action,
      caller: isOther ? { actor: OTHERS, actorName: null, via: caller.via, ip: null, requestId: null } : { ...caller, requestId: null },
      endsAt: (Math.floor(this.now() / MINUTE_MS) + 1) * MINUTE_MS,
      rows: 0,
      summed: new Map(),
    };
    this.minutes.set(key, minute);
    return minute;
  }

  private endMinutes(now: number): void {
    for (const [name, minute] of this.minutes) if (minute.endsAt <= now || now === Number.POSITIVE_INFINITY) this.end(name, minute);
  }

  private end(name: string, minute: Minute): void {
    this.minutes.delete(name);
    if (minute.summed.size === 0) return;
    if (this.ended.length < SENDERS_MAX) this.ended.push(minute);
    else this.logger.error({ ...toEntry(minute), caller: minute.caller }, 'sum of refusals not recorded: too many wait for the database');
  }

  private async write(): Promise<void> {
    try {
      while (this.ended.length > 0) {
        const batch = this.ended.slice(0, BATCH_MAX);
        const toAuthor = ({ caller }: Minute): Author => ({ caller, logger: this.logger });
        await journaled(this.prisma, toAuthor(batch[0] as Minute), async (_tx, write) => {
          for (const minute of batch) await write(toEntry(minute), toAuthor(minute));
        });
        this.ended = this.ended.slice(batch.length);
      }
    } catch (err) {
      this.logger.warn({ err, waiting: this.ended.length }, 'sums of refusals not recorded: trying again');
    }
  }
}

function toEntry({ action, endsAt, summed }: Minute): JournalEntry {
  const targets = [...summed].sort(([, one], [, other]) => other - one);
  const count = targets.reduce((sum, [, refusals]) => sum + refusals, 0);
  return {
    action,
    target: targets.length === 1 ? (targets[0]?.[0] ?? OTHERS) : `${targets.length} targets`,
    reason: `${count} further refusals in this minute`,
    after: { minute: new Date(endsAt - MINUTE_MS).toISOString(), count, byTarget: Object.fromEntries(targets) },
  };
}
