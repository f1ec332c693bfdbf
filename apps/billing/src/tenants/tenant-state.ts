import type { Account } from '#contracts/billing/accounts.js';
import type { Budget } from '#contracts/billing/budgets.js';
import type { ApiKey } from '#contracts/billing/keys.js';
import type { PlanSubscription } from '#contracts/billing/plans.js';
import type { Project } from '#contracts/billing/projects.js';
import type { Webhook } from '#contracts/billing/webhooks.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import type { StoredMark } from '../managed/marks.js';

/** An account with what a tenants file can name of it. Keys are those that are in use; webhooks are the operator's. */
export interface TenantState {
  account: Account;
  credit: PlanSubscription | null;
  projects: Project[];
  keys: ApiKey[];
  budgets: Budget[];
  webhooks: StoredWebhook[];
  /** Marks of what tenants files own. */
  marks: StoredMark[];
}

export interface StoredWebhook extends Pick<Webhook, 'webhookId' | 'url' | 'format' | 'allowPrivateNetwork'> {
  accountId: string;
  muted: boolean;
}

export type Tx = Prisma.TransactionClient | PrismaClient;

/** Oldest first, so that an export has a stable order. */
export const ORDER: { createdAt: 'asc' }[] & { id: 'asc' }[] = [{ createdAt: 'asc' }, { id: 'asc' }] as never;
