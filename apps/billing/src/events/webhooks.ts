import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type {
  Webhook,
  WebhookAdded,
  WebhookAddRequest,
  WebhookListReply,
  WebhookListRequest,
  WebhookRotateRequest,
  WebhookUpdateRequest,
  WebhookWithSecret,
} from '#contracts/billing/webhooks.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, audited } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { assertHostAllowed } from '#network/address-guard.js';
import { requireAccount } from '../accounts/accounts.js';
import { addMarks } from '../managed/marks.js';
import {
  describeChange,
  describeUpdate,
  findWebhook,
  isCustomer,
  listSettings,
  readSecretParts,
  renderWebhook,
  SELECT_WEBHOOK,
  type WebhookName,
  type WebhookRow,
} from './stored-webhook.js';
import { webhookSecret } from './webhook-signature.js';

/** The most of the operator. One replica sends to all of them, with a few sockets each. */
const WEBHOOKS_MAX = 1_000;
/** The most of the people of one account, so that no account takes what all share. */
const CUSTOMER_WEBHOOKS_MAX = 20;
const SALT_BYTES = 24;
/** One address, without the fields that such a URL may have. */
const MAILTO = /^mailto:[^@\sA-Z?&%,;:<>"]{1,64}@[^@\sA-Z?&%,;:<>"]{1,189}$/;

/**
 * Adds a webhook. A repeated request with the same id returns the same webhook without its secret, which is shown once.
 * @throws {ServiceError} `invalid_request` for the URL, `not_found` for the account, `permission_denied` for a private network of a customer,
 * `conflict` when there are too many, another has the id, or a removed one of another account had it.
 */
export async function addWebhook(prisma: PrismaClient, request: WebhookAddRequest, pepper: string, author: Author): Promise<WebhookAdded> {
  const { webhookId: id = randomUUID(), accountId = null, url, format = 'json', allowPrivateNetwork = false } = request;
  demandAllowed(author, request);
  assertDestination({ url, format, allowPrivateNetwork });
  const setBy = isCustomer(author) ? 'customer' : 'operator';
  if (accountId !== null) await requireAccount(prisma, accountId);
  return audited<WebhookAdded>(prisma, 'billing', author, async (tx) => {
    const secretSalt = randomBytes(SALT_BYTES).toString('base64');
    const { count } = await tx.webhook.createMany({
      data: [{ id, accountId, url, format, allowPrivateNetwork, secretSalt, setBy }],
      skipDuplicates: true,
    });
    const webhook = await findAdded(tx, id);
    const isSame = isDeepStrictEqual(pickGiven(webhook), pickGiven({ accountId, url, format, allowPrivateNetwork }));
    if (!isSame) throw new ServiceError('conflict', 'There is another webhook with this id.', 'webhookId');
    const most = setBy === 'customer' ? CUSTOMER_WEBHOOKS_MAX : WEBHOOKS_MAX;
    const others = setBy === 'customer' ? { setBy, accountId } : { setBy };
    if ((await tx.webhook.count({ where: others })) > most)
      throw new ServiceError('conflict', `There are ${most} webhooks, which is the most.`, 'url');
    if (count === 0) return { result: { ...webhook, secret: null }, change: null };
    await assertOwnedId(tx, id, accountId);
    const change = { ...describeChange('webhook.create', webhook), before: null, after: listSettings(webhook) };
    return { result: await withSecret(tx, webhook, pepper), change };
  });
}

/** Lists the webhooks, oldest first, or those that get the events of an account; for a customer those that people of the account added. */
export async function listWebhooks(prisma: PrismaClient, { accountId }: WebhookListRequest, author: Author): Promise<WebhookListReply> {
  const ofAccount = Prisma.sql`w.account_id = ${accountId ?? null}::uuid`;
  const only = isCustomer(author)
    ? Prisma.sql`WHERE w.set_by = 'customer' AND ${ofAccount}`
    : accountId === undefined
      ? Prisma.empty
      : Prisma.sql`WHERE w.account_id IS NULL OR ${ofAccount}`;
  const rows = await prisma.$queryRaw<WebhookRow[]>`${SELECT_WEBHOOK} ${only} ORDER BY w.created_at, w.id`;
  return { webhooks: await addMarks(prisma, 'webhook', rows.map(renderWebhook), ({ webhookId }) => webhookId) };
}

/**
 * Changes the URL or the format of a webhook, or mutes it. What waits goes to a new URL at once, and is dropped when the webhook is muted.
 * @throws {ServiceError} `not_found`, `invalid_request` for the URL, `permission_denied` for a private network of a customer.
 */
export async function updateWebhook(prisma: PrismaClient, request: WebhookUpdateRequest, author: Author): Promise<Webhook> {
  demandAllowed(author, request);
  return audited(prisma, 'billing', author, async (tx) => {
    const before = await findWebhook(tx, request, author);
    const id = before.webhookId;
    // A customer chooses addresses outside alone, whatever the operator allowed for the one before.
    const isTheirs = request.url !== undefined && isCustomer(author);
    const { url = before.url, format = before.format, muted = before.mutedAt !== null } = request;
    const allowPrivateNetwork = request.allowPrivateNetwork ?? (isTheirs ? false : before.allowPrivateNetwork);
    assertDestination({ url, format, allowPrivateNetwork });
    const mutedAt = muted ? (before.mutedAt ?? new Date()) : null;
    await tx.webhook.update({ where: { id }, data: { url, format, allowPrivateNetwork, mutedAt } });
    const change = describeUpdate(before, await findWebhook(tx, request, author));
    if (muted !== (before.mutedAt !== null))
      await tx.$executeRaw`UPDATE billing.webhook_delivery
      SET done = last, due_at = NULL, attempts = 0, failure = NULL WHERE webhook_id = ${id}::uuid AND due_at IS NOT NULL`;
    else if (change)
      await tx.$executeRaw`UPDATE billing.webhook_delivery
      SET due_at = clock_timestamp(), attempts = 0, failure = NULL WHERE webhook_id = ${id}::uuid AND due_at IS NOT NULL`;
    return { result: await findWebhook(tx, request, author), change };
  });
}

/** Removes a webhook and returns it. Throws `ServiceError('not_found')`. */
export async function removeWebhook(prisma: PrismaClient, name: WebhookName, author: Author): Promise<Webhook> {
  return audited(prisma, 'billing', author, async (tx) => {
    const webhook = await findWebhook(tx, name, author);
    await tx.webhook.delete({ where: { id: webhook.webhookId } });
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
  { graceSeconds, ...name }: WebhookRotateRequest,
  pepper: string,
  author: Author,
): Promise<WebhookWithSecret> {
  return audited(prisma, 'billing', author, async (tx) => {
    const before = await findWebhook(tx, name, author);
    const { webhookId } = before;
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
    const after = await findWebhook(tx, name, author);
    const until = ({ previousSecretUntil }: Webhook) => ({ previousSecretUntil });
    const change = { ...describeChange('webhook.rotate', after), before: until(before), after: until(after) };
    return { result: await withSecret(tx, after, pepper), change };
  });
}

/** @throws {ServiceError} `permission_denied`. */
function demandAllowed(author: Author, { allowPrivateNetwork }: { allowPrivateNetwork?: boolean }): void {
  if (allowPrivateNetwork === true && isCustomer(author))
    throw new ServiceError('permission_denied', 'Only the operator may allow private networks.', 'allowPrivateNetwork');
}

/** Throws `ServiceError('invalid_request')` for a URL that no webhook may have. */
export function assertDestination({
  url: text,
  format,
  allowPrivateNetwork,
}: Pick<Webhook, 'url' | 'format' | 'allowPrivateNetwork'>): void {
  if (format === 'mail') {
    if (MAILTO.test(text)) return;
    throw new ServiceError('invalid_request', 'url must be mailto: and one address in lower case, such as mailto:ada@example.com.', 'url');
  }
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

/** Returns what the caller of `add` chooses. */
function pickGiven({ accountId, url, format, allowPrivateNetwork }: Pick<Webhook, 'accountId' | 'url' | 'format' | 'allowPrivateNetwork'>) {
  return { accountId, url, format, allowPrivateNetwork };
}

/** Finds a webhook of any account: whose it is decides what an `add` with its id replies. */
async function findAdded(tx: Prisma.TransactionClient, id: string): Promise<Webhook> {
  const [row] = await tx.$queryRaw<WebhookRow[]>`${SELECT_WEBHOOK} WHERE w.id = ${id}::uuid`;
  return renderWebhook(row as WebhookRow);
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

async function withSecret(tx: Prisma.TransactionClient, webhook: Webhook, pepper: string): Promise<WebhookWithSecret> {
  return { ...webhook, secret: webhookSecret(pepper, await readSecretParts(tx, webhook.webhookId)) };
}
