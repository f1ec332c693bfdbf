import type { TenantAccount } from '#contracts/billing/tenants.js';
import type { WebhookFormat } from '#contracts/billing/webhooks.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { OWN_LIMITS, renderStoredAccount } from '../accounts/accounts.js';
import { renderStoredProject } from '../accounts/projects.js';
import { renderBudget, STORED_COLUMNS, type StoredBudget } from '../budgets/stored-budget.js';
import { renderKey } from '../keys/keys.js';
import { renderSubscription } from '../ledger/plan-subscriptions.js';
import { toLimits } from '../limits/set-limits.js';
import type { TenantState } from './plan-tenant.js';

type Tx = Prisma.TransactionClient | PrismaClient;

/** Returns the ids of the accounts that a wanted state may mean: the one with its id, or those with its name. */
export async function findAccounts(tx: Tx, wanted: readonly Pick<TenantAccount, 'accountId' | 'name'>[]): Promise<string[][]> {
  const ids = wanted.flatMap(({ accountId }) => accountId ?? []);
  const names = wanted.flatMap(({ accountId, name }) => (accountId === undefined ? name : []));
  const where = { OR: [{ id: { in: ids } }, { name: { in: names } }] };
  const rows = await tx.account.findMany({ where, select: { id: true, name: true }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] });
  const byName = Map.groupBy(rows, ({ name }) => name);
  const known = new Set(rows.map(({ id }) => id));
  return wanted.map(({ accountId, name }) =>
    accountId === undefined ? (byName.get(name) ?? []).map(({ id }) => id) : known.has(accountId) ? [accountId] : [],
  );
}

/** Reads the states of accounts, by their ids. One query for each table, whatever the number of accounts. */
export async function readTenants(tx: Tx, accountIds: readonly string[]): Promise<Map<string, TenantState>> {
  const ids = [...accountIds];
  const now = new Date();
  const ofAccounts = { accountId: { in: ids } };
  const accounts = await tx.account.findMany({ where: { id: { in: ids } }, include: OWN_LIMITS });
  const projects = await tx.project.findMany({ where: ofAccounts, include: { limits: { where: { keyId: null } } }, orderBy: ORDER });
  const credits = await tx.planSubscription.findMany({ where: ofAccounts });
  const webhooks = await tx.webhook.findMany({ where: { ...ofAccounts, setBy: 'operator' }, orderBy: ORDER });
  const budgets = await tx.$queryRaw<StoredBudget[]>`SELECT ${STORED_COLUMNS} FROM billing.budget b
    WHERE b.account_id = ANY(${ids}::uuid[]) ORDER BY created_at, id`;
  const inUse = { revokedAt: null, replacedBy: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  const accountsByProject = new Map(projects.map(({ id, accountId }) => [id, accountId]));
  const keys = await tx.apiKey.findMany({ where: { projectId: { in: [...accountsByProject.keys()] }, ...inUse }, orderBy: ORDER });
  const limits = await tx.rateLimit.findMany({ where: { ...ofAccounts, keyId: { not: null } } });
  const limitsByKey = new Map(limits.map((row) => [row.id, row]));

  const states = new Map<string, TenantState>();
  for (const row of accounts) {
    states.set(row.id, { account: renderStoredAccount(row), credit: null, projects: [], keys: [], budgets: [], webhooks: [] });
  }
  for (const row of projects) states.get(row.accountId)?.projects.push(renderStoredProject(row));
  for (const row of keys) {
    states.get(accountsByProject.get(row.projectId) ?? '')?.keys.push(renderKey(row, toLimits(limitsByKey.get(row.rootKeyId ?? row.id))));
  }
  for (const row of budgets) states.get(row.account_id)?.budgets.push(renderBudget(row, now.getTime()));
  for (const { id: webhookId, accountId, url, format, allowPrivateNetwork, mutedAt } of webhooks) {
    const webhook = { webhookId, url, format: format as WebhookFormat, allowPrivateNetwork, muted: mutedAt !== null };
    states.get(accountId ?? '')?.webhooks.push(webhook);
  }
  for (const row of credits) {
    const state = states.get(row.accountId);
    if (state) state.credit = renderSubscription(row);
  }
  return states;
}

const ORDER: { createdAt: 'asc' }[] & { id: 'asc' }[] = [{ createdAt: 'asc' }, { id: 'asc' }] as never;
