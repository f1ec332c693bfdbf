import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';

export interface LaneOptions<Item, Outcome> {
  connect: () => Promise<PgConnection>;
  /** Does all of a batch or, when it throws, nothing of it. Doing it again must be harmless. Outcomes in the order of items. */
  work: (connection: PgConnection, items: readonly Item[]) => Promise<Outcome[]>;
  batchMax: number;
  queueMax: number;
  /** How long an item may wait for its outcome while the database is away. */
  deadlineMs: number;
  logger: Logger;
}

interface Queued<Item, Outcome> {
  item: Item;
  deadline: number;
  resolve: (outcome: Outcome) => void;
  reject: (error: Error) => void;
}

const RECONNECT_PAUSE_MS = 50;

/**
 * Work that is batched by being busy: one batch is under way, and whatever was pushed meanwhile is the next (billing.md 3).
 * No timer: a lone item goes out at the end of the event loop's turn, and under load batches grow by themselves.
 *
 * Errors of `push`: `ServiceError('unavailable')` when the queue is full or the database is away; what `work` itself threw
 * if that is a `ServiceError`; `internal_error` when the item cannot be done.
 */
export class Lane<Item, Outcome> {
  private readonly queue: Queued<Item, Outcome>[] = [];
  private connection: PgConnection | undefined;
  private running: Promise<void> | undefined;
  private closing = false;
  /** So that an outage is logged when it begins and when it ends, not once a batch. */
  private away = false;

  constructor(private readonly options: LaneOptions<Item, Outcome>) {}

  get queued(): number {
    return this.queue.length;
  }

  push(item: Item): Promise<Outcome> {
    if (this.closing) return Promise.reject(new ServiceError('unavailable', 'The billing service is stopping.'));
    if (this.queue.length >= this.options.queueMax) {
      return Promise.reject(new ServiceError('unavailable', 'The billing service has too much to do.'));
    }
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.queue.push({ item, deadline: Date.now() + this.options.deadlineMs, resolve, reject });
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
    while (this.queue.length > 0) await this.runBatch(this.queue.splice(0, this.options.batchMax));
    this.running = undefined;
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
        const now = Date.now();
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
