import { randomUUID } from 'node:crypto';
import type { WebhookResendRequest, WebhookTestReply } from '#contracts/billing/webhooks.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, auditedAct } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import type { DestinationClient } from './destination-client.js';
import { EVENT_COLUMNS, type EventRow, renderEvent } from './money-event.js';
import { type MessageSettings, renderMessage } from './render-message.js';
import { describeChange, findWebhook, nameDestination, readSigningKeys, type WebhookName } from './stored-webhook.js';
import { RECORD_ANSWER } from './webhook-answers.js';
import type { WebhookAnswer } from './webhook-client.js';

export interface Sender {
  client: Pick<DestinationClient, 'send'>;
  messages: MessageSettings;
}

/** Sends a message of kind `test`, once. Throws `ServiceError('not_found')`. */
export async function testWebhook(prisma: PrismaClient, sender: Sender, name: WebhookName, author: Author): Promise<WebhookTestReply> {
  const webhook = await findWebhook(prisma, name, author);
  const { webhookId, url } = webhook;
  await auditedAct(prisma, 'billing', author, { ...describeChange('webhook.test', webhook), after: { origin: nameDestination(url) } });
  const event = { eventId: randomUUID(), kind: 'test', createdAt: new Date().toISOString() };
  const keys = await readSigningKeys(prisma, webhook);
  return renderReply(webhookId, await sender.client.send(renderMessage(webhook, keys, event, sender.messages)));
}

/**
 * Sends one event again, once, whatever waits, and records the answer. An event that was given up and is accepted now is no dead letter.
 * @throws {ServiceError} `not_found`.
 */
export async function resendEvent(
  prisma: PrismaClient,
  sender: Sender,
  { eventId, ...name }: WebhookResendRequest,
  author: Author,
): Promise<WebhookTestReply> {
  const webhook = await findWebhook(prisma, name, author);
  const { webhookId } = webhook;
  const of = name.accountId ?? webhook.accountId;
  const only = of === null ? Prisma.empty : Prisma.sql`AND e.account_id = ${of}::uuid`;
  const [event] = await prisma.$queryRaw<EventRow[]>`SELECT ${Prisma.raw(EVENT_COLUMNS)} FROM billing.money_event e
    WHERE e.id = ${eventId}::uuid ${only}`;
  if (!event) throw new ServiceError('not_found', 'There is no such event of the last 30 days.', 'eventId');
  await auditedAct(prisma, 'billing', author, { ...describeChange('webhook.resend', webhook), after: { eventId, kind: event.kind } });
  const keys = await readSigningKeys(prisma, webhook);
  const answer = await sender.client.send(renderMessage(webhook, keys, renderEvent(event), sender.messages));
  await prisma.$executeRawUnsafe(RECORD_ANSWER, webhookId, eventId, answer.accepted, answer.answer, answer.milliseconds);
  if (answer.accepted) await prisma.deadLetter.deleteMany({ where: { webhookId, eventId } });
  return renderReply(webhookId, answer);
}

function renderReply(webhookId: string, { accepted, answer, milliseconds }: WebhookAnswer): WebhookTestReply {
  return { webhookId, accepted, failure: accepted ? null : answer, answer, milliseconds };
}
