import type { WebhookReplayReply, WebhookReplayRequest } from '#contracts/billing/webhooks.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, audited } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { describeChange, findWebhook } from './stored-webhook.js';

/**
 * Sends the events since `from` again, those before the webhook was added included.
 * @throws {ServiceError} `not_found`, `conflict` for one that is muted.
 */
export async function replayWebhook(
  prisma: PrismaClient,
  { from, ...name }: WebhookReplayRequest,
  author: Author,
): Promise<WebhookReplayReply> {
  return audited(prisma, 'billing', author, async (tx) => {
    const webhook = await findWebhook(tx, name, author);
    const { webhookId, mutedAt } = webhook;
    if (mutedAt !== null) throw new ServiceError('conflict', 'The webhook is muted. Unmute it first.', 'webhookId');
    const since = new Date(from);
    const of = name.accountId ?? webhook.accountId;
    const only = of === null ? Prisma.empty : Prisma.sql`AND e.account_id = ${of}::uuid`;
    await tx.$executeRaw`DELETE FROM billing.dead_letter d USING billing.money_event e
      WHERE d.webhook_id = ${webhookId}::uuid AND e.id = d.event_id AND e.created_at >= ${since} ${only}`;
    const rows = await tx.$queryRaw<{ events: number }[]>`WITH moved AS (
        INSERT INTO billing.webhook_delivery AS d (webhook_id, account_id, done, last, due_at)
        SELECT ${webhookId}::uuid, e.account_id, min(e.sequence) - 1, max(e.sequence), clock_timestamp()
        FROM billing.money_event e WHERE e.created_at >= ${since} ${only} GROUP BY e.account_id
        ON CONFLICT (webhook_id, account_id) DO UPDATE SET done = least(d.done, excluded.done), due_at = excluded.due_at, attempts = 0,
          failure = NULL
        RETURNING d.last - d.done AS events
      ) SELECT coalesce(sum(events), 0)::int4 AS events FROM moved`;
    const events = rows[0]?.events ?? 0;
    const after = { from: since.toISOString(), accountId: of, events };
    return { result: { webhookId, events }, change: { ...describeChange('webhook.replay', webhook), before: null, after } };
  });
}
