import { randomBytes, randomUUID } from 'node:crypto';
import type {
  Webhook,
  WebhookAdded,
  WebhookAddRequest,
  WebhookListReply,
  WebhookListRequest,
  WebhookReplayReply,
  WebhookReplayRequest,
  WebhookRotateRequest,
  WebhookTestReply,
  WebhookWithSecret,
} from '#contracts/billing/webhooks.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, audited, auditedAct } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { assertHostAllowed } from '#network/address-guard.js';
import { requireAccount } from '../accounts/accounts.js';
import type { WebhookClient } from './webhook-client.js';
import { type SecretParts, signatureHeaders, webhookSecret } from './webhook-signature.js';

/** One replica sends to all of them, with a few sockets each. */
const WEBHOOKS_MAX = 1_000;
const SALT_BYTES = 24;

/**
 * Adds a webhook. A repeated request with the same id returns the same webhook without its secret, which is shown once.
 * @throws {ServiceError} `invalid_request` for the URL, `not_found` for the account, `conflict` when there are `WEBHOOKS_MAX`, another has
 * the id, or a removed one of another account had it.
 */
export async function addWebhook(prisma: PrismaClient, request: WebhookAddRequest, pepper: string, author: Author): Promise<WebhookAdded> {
  const { webhookId: id = randomUUID(), accountId = null, url, allowPrivateNetwork = false } = request;
  assertUrl(url, allowPrivateNetwork);
  if (accountId !== null) await requireAccount(prisma, accountId);
  return audited<WebhookAdded>(prisma, 'billing', author, async (tx) => {
    const secretSalt = randomBytes(SALT_BYTES).toString('base64');
    const { count } = await tx.webhook.createMany({
      data: [{ id, accountId, url, allowPrivateNetwork, secretSalt }],
      skipDuplicates: true,
    });
    const webhook = await findWebhook(tx, id);
    const isSame = webhook.url === url && webhook.accountId === accountId && webhook.allowPrivateNetwork === allowPrivateNetwork;
    if (!isSame) throw new ServiceError('conflict', 'There is another webhook with this id.', 'webhookId');
    if ((await tx.webhook.count()) > WEBHOOKS_MAX)
      throw new ServiceError('conflict', `There are ${WEBHOOKS_MAX} webhooks, which is the most.`, 'url');
    if (count === 0) return { result: { ...webhook, secret: null }, change: null };
    await assertOwnedId(tx, id, accountId);
    const change = { ...describeChange('webhook.create', webhook), before: null, after: listSettings(webhook) };
    return { result: await withSecret(tx, webhook, pepper), change };
  });
}

/** Lists the webhooks, oldest first, or those that get the events of an account. */
export async function listWebhooks(prisma: PrismaClient, { accountId }: WebhookListRequest): Promise<WebhookListReply> {
  const only = accountId === undefined ? Prisma.empty : Prisma.sql`WHERE w.account_id IS NULL OR w.account_id = ${accountId}::uuid`;
  const rows = await prisma.$queryRaw<WebhookRow[]>`${SELECT_WEBHOOK} ${only} ORDER BY w.created_at, w.id`;
  return { webhooks: rows.map(renderWebhook) };
}

/** Removes a webhook and returns it. Throws `ServiceError('not_found')`. */
export async function removeWebhook(prisma: PrismaClient, webhookId: string, author: Author): Promise<Webhook> {
  return audited(prisma, 'billing', author, async (tx) => {
    const webhook = await findWebhook(tx, webhookId);
    await tx.webhook.delete({ where: { id: webhookId } });
    return { result: webhook, change: { ...describeChange('webhook.remove', webhook), before: listSettings(webhook), after: null } };
  });
}

/**
 * Gives a webhook its next secret. Messages are signed with both until the grace is over. Without a grace all secrets before end at once,
 * also one that a rotation before had left valid.
 * @throws {ServiceError} `not_found`, `conflict` for a grace during another one: a third secret would end the first before its time.
 */
export async function rotateWebhook(
  prisma: PrismaClient,
  { webhookId, graceSeconds }: WebhookRotateRequest,
  pepper: string,
  author: Author,
): Promise<WebhookWithSecret> {
  return audited(prisma, 'billing', author, async (tx) => {
    const before = await findWebhook(tx, webhookId);
    const rotated = await tx.$executeRaw`UPDATE billing.webhook SET secret_version = secret_version + 1,
        previous_until = clock_timestamp() + ${graceSeconds}::int4 * interval '1 second'
      WHERE id = ${webhookId}::uuid AND (${graceSeconds}::int4 = 0 OR coalesce(previous_until <= clock_timestamp(), true))`;
    if (rotated === 0) {
      const until = before.previousSecretUntil;
      throw new ServiceError(
        'conflict',
        `The secret before is valid until ${until}. Rotate it then, or now without a grace.`,
        'graceSeconds',
      );
    }
    const after = await findWebhook(tx, webhookId);
    const until = ({ previousSecretUntil }: Webhook) => ({ previousSecretUntil });
    const change = { ...describeChange('webhook.rotate', after), before: until(before), after: until(after) };
    return { result: await withSecret(tx, after, pepper), change };
  });
}

/** Sends the events since `from` again, those before the webhook was added included. Throws `ServiceError('not_found')`. */
export async function replayWebhook(
  prisma: PrismaClient,
  { webhookId, accountId, from }: WebhookReplayRequest,
  author: Author,
): Promise<WebhookReplayReply> {
  return audited(prisma, 'billing', author, async (tx) => {
    const webhook = await findWebhook(tx, webhookId);
    if (accountId !== undefined && webhook.accountId !== null && webhook.accountId !== accountId)
      throw new ServiceError('not_found', 'The webhook does not get the events of this account.', 'accountId');
    const since = new Date(from);
    const of = accountId ?? webhook.accountId;
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

/** Sends a message of kind `test`, once. Throws `ServiceError('not_found')`. */
export async function testWebhook(
  prisma: PrismaClient,
  client: Pick<WebhookClient, 'send'>,
  webhookId: string,
  pepper: string,
  author: Author,
): Promise<WebhookTestReply> {
  const webhook = await findWebhook(prisma, webhookId);
  const { url, allowPrivateNetwork, previousSecretUntil } = webhook;
  await auditedAct(prisma, 'billing', author, { ...describeChange('webhook.test', webhook), after: { origin: new URL(url).origin } });
  const id = randomUUID();
  const body = JSON.stringify({ eventId: id, kind: 'test', createdAt: new Date().toISOString() });
  const hasPrevious = previousSecretUntil !== null && Date.parse(previousSecretUntil) > Date.now();
  const keys = { ...(await readSecretParts(prisma, webhookId)), hasPrevious };
  const headers = signatureHeaders(pepper, keys, { id, body, sentAt: Math.floor(Date.now() / 1_000) });
  const start = performance.now();
  const failure = (await client.send({ url, allowPrivateNetwork, headers, body })) ?? null;
  return { webhookId, accepted: failure === null, failure, milliseconds: Math.round(performance.now() - start) };
}

function assertUrl(text: string, allowPrivateNetwork: boolean): void {
  const url = URL.parse(text);
  const isEncrypted = url?.protocol === 'https:' || (url?.protocol === 'http:' && allowPrivateNetwork);
  if (!url || !isEncrypted || url.username !== '' || url.password !== '') {
    throw new ServiceError('invalid_request', 'url must be a URL with https and without a user; http needs allowPrivateNetwork.', 'url');
  }
  try {
    assertHostAllowed(url.hostname, allowPrivateNetwork);
  } catch (error) {
    throw new ServiceError('invalid_request', (error as Error).message, 'url');
  }
}

/** A row of `SELECT_WEBHOOK`. */
interface WebhookRow extends Omit<Webhook, 'previousSecretUntil' | 'createdAt' | 'deadSince'> {
  previousSecretUntil: Date | null;
  createdAt: Date;
  deadSince: Date | null;
}

const SELECT_WEBHOOK = Prisma.sql`SELECT w.id AS "webhookId", w.account_id AS "accountId", w.url,
    w.allow_private_network AS "allowPrivateNetwork", w.previous_until AS "previousSecretUntil", w.created_at AS "createdAt",
    d.undelivered, d.failure, l.count AS "deadLetters", l.since AS "deadSince"
  FROM billing.webhook w,
    LATERAL (SELECT coalesce(sum(last - done), 0)::float8 AS undelivered, (array_agg(failure ORDER BY due_at)
        FILTER (WHERE failure IS NOT NULL))[1] AS failure FROM billing.webhook_delivery WHERE webhook_id = w.id AND due_at IS NOT NULL) d,
    LATERAL (SELECT count(*)::int4, min(e.created_at) AS since FROM billing.dead_letter b JOIN billing.money_event e ON e.id = b.event_id
      WHERE b.webhook_id = w.id) l`;

async function findWebhook(tx: Prisma.TransactionClient, webhookId: string): Promise<Webhook> {
  const [row] = await tx.$queryRaw<WebhookRow[]>`${SELECT_WEBHOOK} WHERE w.id = ${webhookId}::uuid`;
  if (!row) throw new ServiceError('not_found', 'There is no such webhook.', 'webhookId');
  return renderWebhook(row);
}

/** Throws `ServiceError('conflict')` when a removed webhook of another account had the id. The audit journal keeps their accounts. */
async function assertOwnedId(tx: Prisma.TransactionClient, id: string, accountId: string | null): Promise<void> {
  const removed = await tx.billingAudit.findMany({
    where: { target: `webhook/${id}`, action: 'webhook.remove' },
    select: { accountId: true },
    distinct: ['accountId'],
  });
  if (removed.some((one) => one.accountId !== accountId))
    throw new ServiceError('conflict', 'A removed webhook of another account had this id.', 'webhookId');
}

async function readSecretParts(tx: Prisma.TransactionClient, id: string): Promise<SecretParts> {
  const { secretVersion: version, secretSalt: salt } = await tx.webhook.findUniqueOrThrow({ where: { id } });
  return { webhookId: id, salt, version };
}

async function withSecret(tx: Prisma.TransactionClient, webhook: Webhook, pepper: string): Promise<WebhookWithSecret> {
  return { ...webhook, secret: webhookSecret(pepper, await readSecretParts(tx, webhook.webhookId)) };
}

function renderWebhook({ previousSecretUntil, createdAt, deadSince, ...row }: WebhookRow): Webhook {
  return {
    ...row,
    previousSecretUntil: previousSecretUntil?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
    deadSince: deadSince?.toISOString() ?? null,
  };
}

function describeChange(action: string, { webhookId, accountId }: Webhook) {
  return { action, accountId, target: `webhook/${webhookId}`, reason: null };
}

/** Settings for the audit journal: of the URL the origin alone, because the rest of one may be a secret. */
function listSettings({ webhookId, accountId, url, allowPrivateNetwork }: Webhook): Record<string, unknown> {
  return { webhookId, accountId, origin: new URL(url).origin, allowPrivateNetwork };
}
