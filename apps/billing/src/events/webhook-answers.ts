import type { Delivery, DeliveryListReply, DeliveryListRequest, DeliveryState } from '#contracts/billing/webhooks.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Author } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { parseCursor, renderCursor } from '../paging/page-cursor.js';
import { EVENT_COLUMNS, type EventRow, renderEvent } from './money-event.js';
import { findWebhook } from './stored-webhook.js';

/** Keeps the answer of webhook $1 to event $2: accepted, text and milliseconds. Neither may be gone. */
export const RECORD_ANSWER = `INSERT INTO billing.webhook_answer AS a (webhook_id, event_id, attempts, accepted, answer, milliseconds)
  SELECT w.id, e.id, 1, $3, $4, $5 FROM billing.webhook w, billing.money_event e WHERE w.id = $1::uuid AND e.id = $2::uuid
  ON CONFLICT (webhook_id, event_id) DO UPDATE SET attempts = a.attempts + 1, accepted = excluded.accepted, answer = excluded.answer,
    milliseconds = excluded.milliseconds, at = clock_timestamp()`;

const LIMIT_DEFAULT = 50;

/** The event waits at the webhook. One that is muted waits for nothing. */
const WAITS = Prisma.sql`d.due_at IS NOT NULL AND e.sequence > d.done`;

/**
 * Lists the events of one account that a webhook got or will get, newest first.
 * @throws {ServiceError} `not_found`, `invalid_request` for a webhook of all accounts when no account is named.
 */
export async function listDeliveries(prisma: PrismaClient, request: DeliveryListRequest, author: Author): Promise<DeliveryListReply> {
  const { limit = LIMIT_DEFAULT, cursor, ...name } = request;
  const webhook = await findWebhook(prisma, name, author);
  const accountId = name.accountId ?? webhook.accountId;
  if (accountId === null) throw new ServiceError('invalid_request', 'The webhook is of all accounts: name one.', 'accountId');
  const question = [webhook.webhookId, accountId];
  const [before] = cursor ? parseCursor(question, cursor, [isSequence]) : [];
  const rows = await prisma.$queryRaw<DeliveryRow[]>`
    SELECT ${Prisma.raw(EVENT_COLUMNS)}, coalesce(${WAITS}, false) AS waits,
      ${WAITS} AND NOT EXISTS (SELECT FROM billing.money_event b
        WHERE b.account_id = e.account_id AND b.sequence > d.done AND b.sequence < e.sequence) AS "isNext",
      d.attempts AS tries, d.due_at AS "dueAt", l.event_id IS NOT NULL AS "isGivenUp", a.attempts, a.answer, a.accepted, a.milliseconds, a.at
    FROM billing.money_event e
      LEFT JOIN billing.webhook_delivery d ON d.webhook_id = ${webhook.webhookId}::uuid AND d.account_id = e.account_id
      LEFT JOIN billing.webhook_answer a ON a.webhook_id = ${webhook.webhookId}::uuid AND a.event_id = e.id
      LEFT JOIN billing.dead_letter l ON l.webhook_id = ${webhook.webhookId}::uuid AND l.event_id = e.id
    WHERE e.account_id = ${accountId}::uuid AND (a.event_id IS NOT NULL OR l.event_id IS NOT NULL OR ${WAITS})
      ${before === undefined ? Prisma.empty : Prisma.sql`AND e.sequence < ${BigInt(before)}`}
    ORDER BY e.sequence DESC LIMIT ${limit + 1}`;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    deliveries: page.map(renderDelivery),
    nextCursor: rows.length > limit && last ? renderCursor(question, [last.sequence]) : null,
  };
}

const isSequence = (value: string): boolean => /^\d{1,18}$/.test(value);

interface DeliveryRow extends EventRow {
  waits: boolean;
  /** It is the next one of its account. */
  isNext: boolean | null;
  /** Failed attempts since the last success of the account. */
  tries: number | null;
  dueAt: Date | null;
  isGivenUp: boolean;
  attempts: number | null;
  answer: string | null;
  accepted: boolean | null;
  milliseconds: number | null;
  at: Date | null;
}

function renderDelivery(row: DeliveryRow): Delivery {
  const { waits, isNext, dueAt, attempts, answer, milliseconds, at } = row;
  return {
    event: renderEvent(row),
    state: findState(row),
    attempts: attempts ?? 0,
    answer,
    milliseconds,
    attemptedAt: at?.toISOString() ?? null,
    nextAttemptAt: waits && isNext ? (dueAt?.toISOString() ?? null) : null,
  };
}

function findState({ waits, isNext, tries, isGivenUp, accepted }: DeliveryRow): DeliveryState {
  if (waits) return isNext && tries ? 'retrying' : 'waiting';
  if (accepted) return 'accepted';
  return isGivenUp ? 'given-up' : 'failed';
}
