import type { WebhookFormat } from '#contracts/billing/webhooks.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { Logger } from '#observability/logger.js';
import type { DestinationClient } from './destination-client.js';
import { EVENT_COLUMNS, type EventRow, renderEvent } from './money-event.js';
import { type MessageSettings, renderMessage } from './render-message.js';
import { RECORD_ANSWER } from './webhook-answers.js';

export interface WebhookDeliveriesOptions {
  client: Pick<DestinationClient, 'send'>;
  messages: MessageSettings;
  /** Seconds until the next attempt, by the number of failed attempts; the last one repeats. Default: `RETRY_SECONDS`. */
  retrySeconds?: readonly number[];
  logger: Logger;
}

const RETRY_SECONDS: readonly number[] = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400];
/** An event that is older is given up when an attempt fails. */
const GIVE_UP_DAYS = 3;
/** Messages that are on their way to one webhook, each of another account: a receiver that hangs holds up no more sockets. */
const SENDS_MAX = 8;
/** Spreads the repetitions of messages that failed together. */
const JITTER = 0.2;

/** Beside the next events of each webhook that are due it returns those that are on their way already. */
const READ_DUE = `SELECT w.id AS webhook_id, w.url, w.format, w.allow_private_network, w.secret_version, w.secret_salt,
    coalesce(w.previous_until > clock_timestamp(), false) AS has_previous, d.done::text, d.attempts,
    e.created_at < clock_timestamp() - interval '${GIVE_UP_DAYS} days' AS is_old, ${EVENT_COLUMNS}
  FROM billing.webhook w,
    LATERAL (SELECT * FROM billing.webhook_delivery WHERE webhook_id = w.id AND due_at <= clock_timestamp()
      ORDER BY due_at LIMIT ${2 * SENDS_MAX}) d,
    LATERAL (SELECT * FROM billing.money_event WHERE account_id = d.account_id AND sequence > d.done ORDER BY sequence LIMIT 1) e
  WHERE w.muted_at IS NULL`;

/** Nothing is changed if a replay has set the cursor back meanwhile. */
const CURSOR = 'webhook_id = $1 AND account_id = $2 AND done = $3';
const NEXT = 'done = $4, due_at = CASE WHEN last > $4 THEN clock_timestamp() END';
const DELIVERED = `UPDATE billing.webhook_delivery SET ${NEXT}, attempts = 0, failure = NULL WHERE ${CURSOR}`;
const FAILED = `UPDATE billing.webhook_delivery SET attempts = attempts + 1, failure = $5, due_at = clock_timestamp() + $4 * interval '1 second'
  WHERE ${CURSOR}`;
const GIVEN_UP = `WITH moved AS (
    UPDATE billing.webhook_delivery SET ${NEXT}, attempts = attempts + 1, failure = $5 WHERE ${CURSOR} RETURNING webhook_id, attempts
  )
  INSERT INTO billing.dead_letter (webhook_id, event_id, attempts, failure) SELECT webhook_id, $6, attempts, $5 FROM moved
  ON CONFLICT (webhook_id, event_id) DO NOTHING`;

interface DueRow extends EventRow {
  webhook_id: string;
  url: string;
  format: WebhookFormat;
  allow_private_network: boolean;
  secret_version: number;
  secret_salt: string;
  has_previous: boolean;
  done: string;
  attempts: number;
  is_old: boolean;
}

/**
 * Delivers the events of each account to each webhook, one after another: an event is sent when the one before was accepted or given up. The
 * events of other accounts, and other webhooks, do not wait for it. One replica delivers at a time, on the connection that makes it the
 * leader: without it nothing can be marked as delivered, and the next leader sends it again.
 */
export class WebhookDeliveries {
  /** Number of messages on their way by webhook, and the accounts that they are of. */
  private readonly sending = new Map<string, Set<string>>();
  private reading: Promise<void> | undefined;
  private isDue = false;
  private stopped = false;

  constructor(private readonly options: WebhookDeliveriesOptions) {}

  /** Starts all deliveries that are due and does not wait for them. Rejects when the connection fails. */
  start(connection: PgConnection): Promise<void> {
    this.isDue = true;
    this.reading ??= this.startDue(connection).finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  /** Starts no more deliveries. */
  stop(): void {
    this.stopped = true;
  }

  private async startDue(connection: PgConnection): Promise<void> {
    while (this.isDue && !this.stopped) {
      this.isDue = false;
      const { rows } = await connection.query<DueRow>(READ_DUE);
      for (const row of rows) this.startOne(connection, row);
    }
  }

  private startOne(connection: PgConnection, row: DueRow): void {
    const accounts = this.sending.get(row.webhook_id) ?? new Set<string>();
    if (accounts.size >= SENDS_MAX || accounts.has(row.account_id) || this.stopped) return;
    this.sending.set(row.webhook_id, accounts.add(row.account_id));
    this.deliver(connection, row)
      .finally(() => {
        accounts.delete(row.account_id);
        if (accounts.size === 0) this.sending.delete(row.webhook_id);
      })
      .then(() => this.start(connection))
      // The round that finds the connection broken says so.
      .catch(() => undefined);
  }

  private async deliver(connection: PgConnection, row: DueRow): Promise<void> {
    const { webhook_id: webhookId, account_id: accountId, id: eventId, kind, attempts, done, sequence } = row;
    const { accepted, answer, milliseconds } = await this.options.client.send(this.renderMessage(row));
    const cursor = [webhookId, accountId, done];
    await connection.query(RECORD_ANSWER, [webhookId, eventId, accepted, answer, milliseconds]);
    if (accepted) {
      await connection.query(DELIVERED, [...cursor, sequence]);
      return;
    }
    const about = { webhookId, accountId, eventId, kind, attempts: attempts + 1, failure: answer };
    if (row.is_old) {
      this.options.logger.error(about, 'webhook: event given up');
      await connection.query(GIVEN_UP, [...cursor, sequence, answer, eventId]);
      return;
    }
    if (attempts === 0) this.options.logger.warn(about, 'webhook: event not accepted; it is repeated');
    await connection.query(FAILED, [...cursor, this.retrySeconds(attempts), answer]);
  }

  private renderMessage(row: DueRow) {
    const { webhook_id: webhookId, secret_version: version, secret_salt: salt, url, format } = row;
    const keys = { webhookId, salt, version, hasPrevious: row.has_previous };
    const destination = { url, format, allowPrivateNetwork: row.allow_private_network };
    return renderMessage(destination, keys, renderEvent(row), this.options.messages);
  }

  private retrySeconds(failedBefore: number): number {
    const { retrySeconds = RETRY_SECONDS } = this.options;
    const seconds = retrySeconds[Math.min(failedBefore, retrySeconds.length - 1)] ?? 0;
    return seconds * (1 + JITTER * (Math.random() - 0.5));
  }
}
