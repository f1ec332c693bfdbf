import type { PgConnection } from '#database/pg-connection.js';
import type { ConfirmedPublisher } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { Rounds } from '../rounds.js';
import { Leadership } from '../sql/leadership.js';
import { announceSpend } from './announce-spend.js';
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
  private readonly leadership: Leadership;
  private keptAt = Number.NEGATIVE_INFINITY;
  private publishing: Promise<void> | undefined;
  private stopping = false;

  constructor(private readonly options: EventDelivererOptions) {
    this.rounds = new Rounds(() => this.tick(), options.intervalMs);
    this.leadership = new Leadership({ lock: LEADER_LOCK, connect: options.connect });
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
    await this.leadership.close();
  }

  /** One round. Never throws: the next round retries. */
  async tick(): Promise<void> {
    if (this.stopping) return;
    try {
      if (!(await this.leadership.lead())) return this.options.onCounted?.(undefined);
      const connection = await this.leadership.connection();
      if (this.options.messaging.connected) this.publishing ??= this.publish(connection);
      await this.options.webhooks.start(connection);
      await this.keep(connection);
    } catch (error) {
      this.options.logger.warn({ err: error }, 'delivery of events failed');
      void this.leadership.close();
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
    await announceSpend(connection);
    await keepEvents(connection);
    onCounted?.(await countUndelivered(connection));
  }
}
