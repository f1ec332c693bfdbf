import type { Webhook } from '#contracts/billing/webhooks.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, changedFields } from '#database/audit-journal.js';
import { Prisma } from '#database/prisma-client.js';
import { findLevel } from '../limits/operator-limits.js';
import { type SecretParts, type SigningKeys } from './webhook-signature.js';

/** A row of `SELECT_WEBHOOK`. */
export interface WebhookRow extends Omit<Webhook, 'previousSecretUntil' | 'createdAt' | 'mutedAt' | 'deadSince'> {
  previousSecretUntil: Date | null;
  createdAt: Date;
  mutedAt: Date | null;
  deadSince: Date | null;
}

export const SELECT_WEBHOOK = Prisma.sql`SELECT w.id AS "webhookId", w.account_id AS "accountId", w.url, w.format,
    w.allow_private_network AS "allowPrivateNetwork", w.previous_until AS "previousSecretUntil", w.created_at AS "createdAt",
    w.muted_at AS "mutedAt", d.undelivered, d.failure, l.count AS "deadLetters", l.since AS "deadSince"
  FROM billing.webhook w,
    LATERAL (SELECT coalesce(sum(last - done), 0)::float8 AS undelivered, (array_agg(failure ORDER BY due_at)
        FILTER (WHERE failure IS NOT NULL))[1] AS failure FROM billing.webhook_delivery WHERE webhook_id = w.id AND due_at IS NOT NULL) d,
    LATERAL (SELECT count(*)::int4, min(e.created_at) AS since FROM billing.dead_letter b JOIN billing.money_event e ON e.id = b.event_id
      WHERE b.webhook_id = w.id) l`;

/** A webhook as a caller names it, who may have to name its account as well. */
export interface WebhookName {
  webhookId: string;
  accountId?: string | undefined;
}

/**
 * Returns the webhook if it gets the events of the account that the caller names. A customer must name one, and finds only webhooks that
 * people of this account added.
 * @throws {ServiceError} `not_found`.
 */
export async function findWebhook(tx: Prisma.TransactionClient, { webhookId, accountId }: WebhookName, author: Author): Promise<Webhook> {
  const own = isCustomer(author)
    ? Prisma.sql`AND w.set_by = 'customer' AND w.account_id = ${accountId ?? null}::uuid`
    : accountId === undefined
      ? Prisma.empty
      : Prisma.sql`AND (w.account_id IS NULL OR w.account_id = ${accountId}::uuid)`;
  const [row] = await tx.$queryRaw<WebhookRow[]>`${SELECT_WEBHOOK} WHERE w.id = ${webhookId}::uuid ${own}`;
  if (!row) throw new ServiceError('not_found', 'There is no such webhook.', 'webhookId');
  return renderWebhook(row);
}

export function isCustomer(author: Author): boolean {
  return findLevel(author) === 'customer';
}

export function renderWebhook({ previousSecretUntil, createdAt, mutedAt, deadSince, ...row }: WebhookRow): Webhook {
  return {
    ...row,
    previousSecretUntil: previousSecretUntil?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
    mutedAt: mutedAt?.toISOString() ?? null,
    deadSince: deadSince?.toISOString() ?? null,
  };
}

export async function readSecretParts(tx: Prisma.TransactionClient, id: string): Promise<SecretParts> {
  const { secretVersion: version, secretSalt: salt } = await tx.webhook.findUniqueOrThrow({ where: { id } });
  return { webhookId: id, salt, version };
}

/** Returns what signs a message now. */
export async function readSigningKeys(tx: Prisma.TransactionClient, { webhookId, previousSecretUntil }: Webhook): Promise<SigningKeys> {
  const hasPrevious = previousSecretUntil !== null && Date.parse(previousSecretUntil) > Date.now();
  return { ...(await readSecretParts(tx, webhookId)), hasPrevious };
}

export function describeChange(action: string, { webhookId, accountId }: Webhook) {
  return { action, accountId, target: `webhook/${webhookId}`, reason: null };
}

/** Returns the origin of a URL, because the rest of one may be a secret, and an e-mail address whole. */
export function nameDestination(url: string): string {
  return url.startsWith('mailto:') ? url : new URL(url).origin;
}

/** Settings for the audit journal: of the URL the origin alone, because the rest of one may be a secret. */
export function listSettings({ webhookId, accountId, url, format, allowPrivateNetwork, mutedAt }: Webhook): Record<string, unknown> {
  const origin = nameDestination(url);
  return { webhookId, accountId, origin, format, allowPrivateNetwork, ...(mutedAt !== null && { muted: true }) };
}

/** Returns the changed settings for the audit journal, with the origin of the URL, whose rest may have changed; null when nothing changed. */
export function describeUpdate(before: Webhook, after: Webhook) {
  const pick = ({ url, format, allowPrivateNetwork, mutedAt }: Webhook) => ({ url, format, allowPrivateNetwork, muted: mutedAt !== null });
  const changed = changedFields(pick(before), pick(after));
  if (!changed) return null;
  const withOrigin = (fields: Record<string, unknown>, { url }: Webhook) => {
    const { url: _, ...others } = fields;
    return { origin: nameDestination(url), ...others };
  };
  return {
    ...describeChange('webhook.update', after),
    before: withOrigin(changed.before, before),
    after: withOrigin(changed.after, after),
  };
}
