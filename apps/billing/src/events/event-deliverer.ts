import type { PgConnection } from '#database/pg-connection.js';
import type { ConfirmedPublisher } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { Rounds } from '../rounds.js';
import { countUndelivered, keepEvents, type UndeliveredEvents } from './keep-events.js';
import { publishEvents } from './publish-events.js';
import type { WebhookDeliveries } from './webhook-deliveries.js';

export interface EventDelivererOptions {
  connect: () => Promise<PgConnection>;
  messaging: ConfirmedPublisher;
  webhooks: WebhookDeliveries;
  /** Milliseconds between two rounds: the longest that an event waits while everything works. */
  intervalMs: number;
  /** Milliseconds between two times of housekeeping: keys that expire, old events, metrics. */
  keepIntervalMs?: number;
  /** Called with each housekeeping; without counts when another replica delivers. */
  onCounted?: (counts: UndeliveredEvents | undefined) => void;
  logger: Logger;
}

/** Advisory lock of the one replica that delivers. */
const LEADER_LOCK = 7_243_005;
const KEEP_INTERVAL_MS = 15_000;

/**
 * Delivers money events on NATS and to webhooks. One replica leads at a time; it reads and marks on the connection that holds the lock, so
 * that one that has lost the lock marks nothing. An event whose delivery was not marked is delivered again, with the same id.
 *
 * NATS and webhooks do not wait for one another.
 */
export class EventDeliverer {
  private readonly rounds: Rounds;
  private connection: PgConnection | undefined;
  private leading = false;
  private keptAt = Number.NEGATIVE_INFINITY;
  private publishing: Promise<void> | undefined;
  private stopping = false;

  constructor(private readonly options: EventDelivererOptions) {
    this.rounds = new Rounds(() => this.tick(), options.intervalMs);
  }

  start(): void {
    this.rounds.start();
  }

  /** Does not wait for deliveries under way: the next leader repeats them. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.options.webhooks.stop();
    await this.rounds.stop();
    await this.publishing;
    await this.connection?.end().catch(() => undefined);
  }

  /** One round. Never throws: the next round retries. */
  async tick(): Promise<void> {
    if (this.stopping) return;
    try {
      const connection = this.connection ?? (await this.openConnection());
      if (!(await this.lead(connection))) return this.options.onCounted?.(undefined);
      if (this.options.messaging.connected) this.publishing ??= this.publish(connection);
      await this.options.webhooks.start(connection);
      await this.keep(connection);
    } catch (error) {
      this.options.logger.warn({ err: error }, 'delivery of events failed');
      this.drop();
    }
  }

  private async publish(connection: PgConnection): Promise<void> {
    try {
      while (!this.stopping && (await publishEvents(connection, this.options.messaging, this.options.logger)));
    } catch {
      // The round that finds the connection broken says so.
    } finally {
      this.publishing = undefined;
    }
  }

  private async keep(connection: PgConnection): Promise<void> {
    const { keepIntervalMs = KEEP_INTERVAL_MS, onCounted } = this.options;
    if (performance.now() - this.keptAt < keepIntervalMs) return;
    this.keptAt = performance.now();
    await keepEvents(connection);
    onCounted?.(await countUndelivered(connection));
  }

  private async lead(connection: PgConnection): Promise<boolean> {
    if (this.leading) return true;
    const { rows } = await connection.query<{ leading: boolean }>('SELECT pg_try_advisory_lock($1) AS leading', [LEADER_LOCK]);
    this.leading = rows[0]?.leading === true;
    return this.leading;
  }

  private async openConnection(): Promise<PgConnection> {
    const connection = await this.options.connect();
    connection.on('error', () => this.connection === connection && this.drop());
    this.connection = connection;
    return connection;
  }

  private drop(): void {
    this.connection?.end().catch(() => undefined);
    this.connection = undefined;
    this.leading = false;
  }
}
