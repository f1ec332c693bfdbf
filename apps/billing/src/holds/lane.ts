import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';

export interface LaneOptions<Item, Outcome> {
  connect: () => Promise<PgConnection>;
  /** Does all of a batch or, when it throws, nothing of it. Doing it again must be harmless. Outcomes in the order of items. */
  work: (connection: PgConnection, items: readonly Item[]) => Promise<Outcome[]>;
  batchMax: number;
  queueMax: number;
  /** At most `max` of the items that wait are one owner's, so that nobody can fill the queue for all. */
  share?: { ownerOf: (item: Item) => string; max: number };
  /** How long an item may wait for its outcome while the database is away. */
  deadlineMs: number;
  /** Items nobody waits for any more once they are over the deadline: they are dropped instead of sent. */
  isPerishable?: (item: Item) => boolean;
  logger: Logger;
}

interface Queued<Item, Outcome> {
  item: Item;
  /** By this process's own clock: one that is set would drop what is fresh, or wait for what is lost. */
  deadline: number;
  resolve: (outcome: Outcome) => void;
  reject: (error: Error) => void;
}

const RECONNECT_PAUSE_MS = 50;

/**
 * Work that is batched by being busy: one batch is under way, and whatever was pushed meanwhile is the next (billing.md 3).
 * No timer: a lone item goes out at the end of the event loop's turn, and under load batches grow by themselves.
 *
 * Errors of `push`: `ServiceError('unavailable')` when the queue or the owner's share of it is full, the item was dropped,
 * or the database is away; what `work` itself threw if that is a `ServiceError`; `internal_error` when the item cannot be
 * done.
 */
export class Lane<Item, Outcome> {
  private readonly queue: Queued<Item, Outcome>[] = [];
  /** How many of the queued are each owner's. */
  private readonly owned = new Map<string, number>();
  /** The oldest item of the batch under way. */
  private oldest: Queued<Item, Outcome> | undefined;
  private connection: PgConnection | undefined;
  private running: Promise<void> | undefined;
  private closing = false;
  /** So that an outage is logged when it begins and when it ends, not once a batch. */
  private away = false;

  constructor(private readonly options: LaneOptions<Item, Outcome>) {}

  get queued(): number {
    return this.queue.length;
  }

  /** How long the oldest item without an outcome has waited, in milliseconds. */
  get waitingMs(): number {
    const { deadline } = this.oldest ?? this.queue[0] ?? {};
    return deadline === undefined ? 0 : performance.now() - (deadline - this.options.deadlineMs);
  }

  push(item: Item): Promise<Outcome> {
    const refusal = this.refusal(item);
    if (refusal !== undefined) return Promise.reject(new ServiceError('unavailable', refusal));
    this.own(item, 1);
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.queue.push({ item, deadline: performance.now() + this.options.deadlineMs, resolve, reject });
    });
    this.running ??= this.run();
    return outcome;
  }

  /** Finishes what is queued, then closes the connection. */
  async close(): Promise<void> {
    this.closing = true;
    await this.running;
    await this.connection?.end().catch(() => undefined);
  }

  private async run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // what arrives in the same turn goes in the same batch
    while (this.queue.length > 0) {
      const batch = this.take();
      [this.oldest] = batch;
      if (batch.length > 0) await this.runBatch(batch);
    }
    this.oldest = undefined;
    this.running = undefined;
  }

  private refusal(item: Item): string | undefined {
    const { queueMax, share } = this.options;
    if (this.closing) return 'The billing service is stopping.';
    if (this.queue.length >= queueMax) return 'The billing service has too much to do.';
    if (share && (this.owned.get(share.ownerOf(item)) ?? 0) >= share.max) return 'The billing service has too much to do for this account.';
    return undefined;
  }

  private own(item: Item, change: 1 | -1): void {
    const owner = this.options.share?.ownerOf(item);
    if (owner === undefined) return;
    const count = (this.owned.get(owner) ?? 0) + change;
    if (count > 0) this.owned.set(owner, count);
    else this.owned.delete(owner);
  }

  /** The next batch, without what is not worth sending any more. */
  private take(): Queued<Item, Outcome>[] {
    const taken = this.queue.splice(0, this.options.batchMax);
    for (const { item } of taken) this.own(item, -1);
    const { isPerishable } = this.options;
    const now = performance.now();
    if (isPerishable === undefined || (taken[0]?.deadline ?? now) >= now) return taken;
    const [late, fresh] = partition(taken, ({ item, deadline }) => deadline < now && isPerishable(item));
    for (const { reject } of late) reject(new ServiceError('unavailable', 'The billing service has too much to do.'));
    return fresh;
  }

  private async runBatch(batch: Queued<Item, Outcome>[]): Promise<void> {
    let pending = batch;
    let sent = false;
    for (;;) {
      try {
        const connection = this.connection ?? (await this.openConnection());
        sent = true;
        await this.work(connection, pending);
        if (this.away) this.options.logger.info('batches are done again');
        this.away = false;
        return;
      } catch (error) {
        if (isRefusal(error)) return this.runHalves(pending, error);
        if (!this.away) this.options.logger.warn({ err: error, items: pending.length }, 'batch not done');
        this.away = true;
        this.dropConnection();
        // What was sent may have been done, so it is worth sending again; the rest can be told at once.
        const now = performance.now();
        const [late, waiting] = partition(pending, ({ deadline }) => !sent || deadline <= now);
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

  /** One item can spoil a batch, a constraint's last word for instance: the others must not suffer for it. */
  private async runHalves(batch: Queued<Item, Outcome>[], error: unknown): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only) {
      if (!(error instanceof ServiceError)) this.options.logger.error({ err: error }, 'item refused by the database');
      only.reject(
        error instanceof ServiceError
          ? error
          : new ServiceError('internal_error', 'The billing service could not do this.', undefined, { cause: error }),
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
 * Whether the data was refused (constraints, values, assertions, our own rules), as opposed to the database being away,
 * restarting, out of resources or too slow.
 */
function isRefusal(error: unknown): boolean {
  if (error instanceof ServiceError) return true;
  const code = (error as { code?: unknown }).code;
  if (typeof code !== 'string') return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
  return /^(22|23|42|P0)[0-9A-Z]{3}$/.test(code);
}

function partition<Value>(values: readonly Value[], test: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter(test), values.filter((value) => !test(value))];
}
