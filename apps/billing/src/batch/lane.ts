import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';

export interface LaneOptions<Item, Outcome> {
  connect: () => Promise<PgConnection>;
  /**
   * Applies a whole batch in one transaction; outcomes are in the order of the items. Must be idempotent: when it throws because the
   * connection broke, the batch may have been committed, and it is sent again.
   */
  work: (connection: PgConnection, items: readonly Item[]) => Promise<Outcome[]>;
  batchMax: number;
  queueMax: number;
  /** Limit of the waiting items of one owner, so that no owner can fill the queue. */
  share?: { findOwner: (item: Item) => string; max: number };
  /**
   * Milliseconds that an item may wait. After them, a perishable item in the queue is rejected, and any item whose batch cannot be written.
   */
  deadlineMs: number;
  /** True for items that are rejected instead of sent when their deadline has passed. */
  isPerishable?: (item: Item) => boolean;
  /** Returns the fields by which the log names an item. */
  logFields?: (item: Item) => object;
  logger: Logger;
}

interface Queued<Item, Outcome> {
  item: Item;
  /** On the process's monotonic clock, which is never set. */
  deadline: number;
  resolve: (outcome: Outcome) => void;
  reject: (error: Error) => void;
}

const RECONNECT_PAUSE_MS = 50;

/**
 * Collects items into batches: one batch is being written, and what arrives meanwhile forms the next. There is no timer: a single item
 * leaves at the end of the event loop turn, and batches grow under load.
 *
 * `push` rejects with a `ServiceError`:
 * - `unavailable`: the lane is closing, the queue or the share of the owner is full, the item waited too long, or the database is
 *   unavailable;
 * - the error of `work`, if it is a `ServiceError`;
 * - `internal_error`: the item makes its batch fail in any other way.
 */
export class Lane<Item, Outcome> {
  private readonly queue: Queued<Item, Outcome>[] = [];
  /** Number of queued items by owner. */
  private readonly owned = new Map<string, number>();
  /** The oldest item of the batch under way. */
  private oldest: Queued<Item, Outcome> | undefined;
  private connection: PgConnection | undefined;
  private running: Promise<void> | undefined;
  private closing = false;
  /** True during an outage, which is logged at its start and end only. */
  private unavailable = false;

  constructor(private readonly options: LaneOptions<Item, Outcome>) {}

  get queued(): number {
    return this.queue.length;
  }

  /** Milliseconds that the oldest item without an outcome has waited. */
  get waitingMs(): number {
    const { deadline } = this.oldest ?? this.queue[0] ?? {};
    return deadline === undefined ? 0 : performance.now() - (deadline - this.options.deadlineMs);
  }

  /** Connects before the first `push`, which would otherwise wait for it. Repeats until the database accepts, or the lane closes. */
  async open(): Promise<void> {
    while (this.connection === undefined && !this.closing) {
      await this.openConnection().catch(async (error: unknown) => {
        if (!this.unavailable) this.options.logger.warn({ err: error }, 'lane not connected: database unavailable');
        this.unavailable = true;
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_PAUSE_MS));
      });
    }
  }

  push(item: Item): Promise<Outcome> {
    const reason = this.whyRejected(item);
    if (reason !== undefined) return Promise.reject(new ServiceError('unavailable', reason));
    this.countFor(item, 1);
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.queue.push({ item, deadline: performance.now() + this.options.deadlineMs, resolve, reject });
    });
    this.running ??= this.run();
    return outcome;
  }

  /** Resolves when the queue is empty and the connection closed. */
  async close(): Promise<void> {
    this.closing = true;
    await this.running;
    await this.connection?.end().catch(() => undefined);
  }

  private async run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // items of one event loop turn share a batch
    while (this.queue.length > 0) {
      const batch = this.take();
      [this.oldest] = batch;
      if (batch.length > 0) await this.runBatch(batch);
    }
    this.oldest = undefined;
    this.running = undefined;
  }

  private whyRejected(item: Item): string | undefined {
    const { queueMax, share } = this.options;
    if (this.closing) return 'The billing service is stopping.';
    if (this.queue.length >= queueMax) return 'The billing service is overloaded.';
    if (share && (this.owned.get(share.findOwner(item)) ?? 0) >= share.max) return 'Too many requests of this account are waiting.';
    return undefined;
  }

  /** Adds to the number of queued items of the item's owner. */
  private countFor(item: Item, change: 1 | -1): void {
    const owner = this.options.share?.findOwner(item);
    if (owner === undefined) return;
    const count = (this.owned.get(owner) ?? 0) + change;
    if (count > 0) this.owned.set(owner, count);
    else this.owned.delete(owner);
  }

  /** Takes the next batch from the queue, and rejects perishable items that waited too long. */
  private take(): Queued<Item, Outcome>[] {
    const taken = this.queue.splice(0, this.options.batchMax);
    for (const { item } of taken) this.countFor(item, -1);
    const { isPerishable } = this.options;
    const now = performance.now();
    // The first has waited longest: if it is in time, all are.
    if (isPerishable === undefined || (taken[0]?.deadline ?? now) >= now) return taken;
    const [late, fresh] = partition(taken, ({ item, deadline }) => deadline < now && isPerishable(item));
    for (const { reject } of late) reject(new ServiceError('unavailable', 'The billing service is overloaded.'));
    return fresh;
  }

  /** Writes one batch. Sends it again on a new connection until it is answered or the deadlines have passed. */
  private async runBatch(batch: Queued<Item, Outcome>[]): Promise<void> {
    let pending = batch;
    let sent = false;
    for (;;) {
      try {
        const connection = this.connection ?? (await this.openConnection());
        sent = true;
        await this.work(connection, pending);
        if (this.unavailable) this.options.logger.info('database reachable again');
        this.unavailable = false;
        return;
      } catch (error) {
        if (isBatchFault(error)) return this.runHalves(pending, error);
        this.dropConnection();
        // A batch that was sent may have been committed, so it is sent again. Items that were not sent are rejected at once.
        const now = performance.now();
        const [late, waiting] = partition(pending, ({ deadline }) => !sent || deadline <= now);
        const counts = { retried: waiting.length, rejected: late.length };
        if (!this.unavailable) this.options.logger.warn({ err: error, ...counts }, 'batch failed: database unavailable');
        this.unavailable = true;
        for (const { reject } of late)
          reject(new ServiceError('unavailable', 'The billing database cannot be reached.', undefined, { cause: error }));
        if (waiting.length === 0) return;
        pending = waiting;
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_PAUSE_MS));
      }
    }
  }

  private async work(connection: PgConnection, batch: Queued<Item, Outcome>[]): Promise<void> {
    const outcomes = await this.options.work(
      connection,
      batch.map(({ item }) => item),
    );
    batch.forEach(({ resolve }, position) => {
      resolve(outcomes[position] as Outcome);
    });
  }

  /** One item can make a batch fail, by a constraint for instance. The batch is split in halves until that item is alone. */
  private async runHalves(batch: Queued<Item, Outcome>[], error: unknown): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only) {
      if (!(error instanceof ServiceError)) {
        this.options.logger.error({ ...this.options.logFields?.(only.item), err: error }, 'item rejected: its batch fails with it');
      }
      only.reject(
        error instanceof ServiceError
          ? error
          : new ServiceError('internal_error', 'The billing service failed.', undefined, { cause: error }),
      );
      return;
    }
    const middle = Math.ceil(batch.length / 2);
    await this.runBatch(batch.slice(0, middle));
    await this.runBatch(batch.slice(middle));
  }

  private async openConnection(): Promise<PgConnection> {
    const connection = await this.options.connect();
    connection.on('error', (error) => {
      this.options.logger.warn({ err: error }, 'database connection lost');
      if (this.connection === connection) this.connection = undefined;
    });
    this.connection = connection;
    return connection;
  }

  private dropConnection(): void {
    this.connection?.end().catch(() => undefined);
    this.connection = undefined;
  }
}

/**
 * True when an item makes the batch fail: the database refused data (22, 23), a statement (42) or an assertion (P0), or our code threw.
 * False when the database is unreachable, restarting, out of resources or too slow: then the batch is sent again.
 */
function isBatchFault(error: unknown): boolean {
  if (error instanceof ServiceError) return true;
  const code = (error as { code?: unknown }).code;
  if (typeof code !== 'string') return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
  return /^(22|23|42|P0)[0-9A-Z]{3}$/.test(code);
}

function partition<Value>(values: readonly Value[], test: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter(test), values.filter((value) => !test(value))];
}
