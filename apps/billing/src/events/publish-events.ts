import { MONEY_EVENT_TOPICS, type MoneyEvent } from '#contracts/billing/events.js';
import type { Topic } from '#contracts/endpoint.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { ConfirmedPublisher } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { EVENT_COLUMNS, type EventRow, renderEvent } from './money-event.js';

const EVENTS_MAX = 500;

const READ_UNPUBLISHED = `SELECT ${EVENT_COLUMNS} FROM billing.money_event e WHERE published_at IS NULL
  ORDER BY e.account_id, e.sequence LIMIT ${EVENTS_MAX}`;

/**
 * Publishes events on NATS that are not there yet, those of one account in their order. Call it from one replica at a time. Stops the events
 * of an account at the first that fails. Returns true when there may be more.
 */
export async function publishEvents(connection: PgConnection, messaging: ConfirmedPublisher, logger: Logger): Promise<boolean> {
  const { rows } = await connection.query<EventRow>(READ_UNPUBLISHED);
  const published: string[] = [];
  const publishInOrder = async (events: readonly EventRow[]): Promise<void> => {
    for (const event of events) {
      await messaging.publishConfirmed(MONEY_EVENT_TOPICS[event.kind] as Topic<MoneyEvent>, renderEvent(event), event.id);
      published.push(event.id);
    }
  };
  const accounts = Map.groupBy(rows, ({ account_id }) => account_id);
  const outcomes = await Promise.allSettled(Array.from(accounts.values(), publishInOrder));
  if (published.length > 0) {
    await connection.query('UPDATE billing.money_event SET published_at = clock_timestamp() WHERE id = ANY ($1::uuid[])', [published]);
  }
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) logger.warn({ err: failure.reason, unpublished: rows.length - published.length }, 'events not published; they are repeated');
  return !failure && rows.length === EVENTS_MAX;
}
