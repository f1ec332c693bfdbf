import { randomUUID } from 'node:crypto';
import type { TenantWebhook } from '#contracts/billing/tenants.js';
import type { WebhookFormat } from '#contracts/billing/webhooks.js';
import { nameDestination } from '../events/stored-webhook.js';
import { addWebhook, assertDestination, removeWebhook, updateWebhook } from '../events/webhooks.js';
import { compareFields, type Fields, newFields, pickChanged, withoutAbsent, withoutEmpty } from './compare-fields.js';
import type { Path, Planning } from './planning.js';
import { ORDER, type StoredWebhook, type TenantState, type Tx } from './tenant-state.js';

/** Reads the webhooks that the operator has set. */
export async function readWebhooks(tx: Tx, accountIds: string[]): Promise<StoredWebhook[]> {
  const rows = await tx.webhook.findMany({ where: { accountId: { in: accountIds }, setBy: 'operator' }, orderBy: ORDER });
  return rows.map(({ id: webhookId, accountId, url, format, allowPrivateNetwork, mutedAt }) => ({
    ...{ webhookId, accountId: accountId ?? '', url, format: format as WebhookFormat, allowPrivateNetwork },
    muted: mutedAt !== null,
  }));
}

export function planWebhooks(planning: Planning): void {
  const { webhooks } = planning.wanted;
  if (webhooks === undefined) return;
  const { accountId } = planning;
  const stored = planning.state?.webhooks ?? [];
  const listed = new Set<string>();
  planning.refuseTwice(webhooks, ['webhooks'], ({ url }) => url, 'url');
  for (const [index, webhook] of webhooks.entries()) {
    const found = stored.find(({ url }) => url === webhook.url);
    if (found) listed.add(found.webhookId);
    planWebhook(planning, webhook, found, ['webhooks', index]);
  }
  for (const { webhookId, url } of stored) {
    if (listed.has(webhookId)) continue;
    const name = nameDestination(url);
    const request = { webhookId, accountId };
    planning.remove('webhook', { name }, [{ field: 'origin', before: name, after: null }], ({ joined, author }) =>
      removeWebhook(joined, request, author),
    );
  }
}

export function exportWebhooks({ webhooks }: TenantState): TenantWebhook[] {
  return webhooks
    .filter(({ url }, index) => webhooks.findIndex((one) => one.url === url) === index)
    .map((webhook) => ({ url: webhook.url, ...withoutEmpty(storedWebhook(webhook)) }));
}

function planWebhook(planning: Planning, wanted: TenantWebhook, stored: StoredWebhook | undefined, path: Path): void {
  const { accountId } = planning;
  const { url, muted } = wanted;
  const { format = 'json', allowPrivateNetwork = false } = { ...stored, ...withoutAbsent({ ...wanted }) } as TenantWebhook;
  if (!planning.check(path, () => assertDestination({ url, format, allowPrivateNetwork }))) return;
  const webhookId = stored?.webhookId ?? randomUUID();
  planning.own('webhook', webhookId, stored);
  const place = { name: nameDestination(url) };
  const fields = wantedWebhook(wanted);
  if (stored) {
    const changed = compareFields(storedWebhook(stored), fields);
    const update = { webhookId, ...pickChanged(wanted, changed) };
    planning.change('webhook', place, changed, ({ joined, author }) => updateWebhook(joined, update, author));
    return;
  }
  const request = { webhookId, accountId, url, format, allowPrivateNetwork };
  planning.create('webhook', place, newFields(fields), async ({ joined, author, keyPepper }) => {
    await addWebhook(joined, request, keyPepper, author);
    if (muted) await updateWebhook(joined, { webhookId, muted }, author);
  });
}

function storedWebhook({ format, allowPrivateNetwork, muted }: StoredWebhook): Fields {
  return { format, allowPrivateNetwork, muted };
}

function wantedWebhook({ format, allowPrivateNetwork, muted }: TenantWebhook): Fields {
  return { format, allowPrivateNetwork, muted };
}
