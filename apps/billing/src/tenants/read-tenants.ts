import type { TenantAccount } from '#contracts/billing/tenants.js';
import { readMarks } from '../managed/marks.js';
import { readAccounts } from './tenant-account.js';
import { readBudgets } from './tenant-budgets.js';
import { readCredits } from './tenant-credit.js';
import { readKeys } from './tenant-keys.js';
import { readProjects } from './tenant-projects.js';
import { ORDER, type TenantState, type Tx } from './tenant-state.js';
import { readWebhooks } from './tenant-webhooks.js';

/** Returns the ids of the accounts that a wanted state may mean: the one with its id, or those with its name. */
export async function findAccounts(tx: Tx, wanted: readonly Pick<TenantAccount, 'accountId' | 'name'>[]): Promise<string[][]> {
  const ids = wanted.flatMap(({ accountId }) => accountId ?? []);
  const names = wanted.flatMap(({ accountId, name }) => (accountId === undefined ? name : []));
  const where = { OR: [{ id: { in: ids } }, { name: { in: names } }] };
  const rows = await tx.account.findMany({ where, select: { id: true, name: true }, orderBy: ORDER });
  const byName = Map.groupBy(rows, ({ name }) => name);
  const known = new Set(rows.map(({ id }) => id));
  return wanted.map(({ accountId, name }) =>
    accountId === undefined ? (byName.get(name) ?? []).map(({ id }) => id) : known.has(accountId) ? [accountId] : [],
  );
}

/** Reads the states of accounts, by their ids. One or two queries for each resource, whatever the number of accounts. */
export async function readTenants(tx: Tx, accountIds: string[]): Promise<Map<string, TenantState>> {
  const now = new Date();
  const accounts = await readAccounts(tx, accountIds);
  const credits = await readCredits(tx, accountIds);
  const projects = await readProjects(tx, accountIds);
  const keys = await readKeys(tx, accountIds, now);
  const budgets = await readBudgets(tx, accountIds, now);
  const webhooks = await readWebhooks(tx, accountIds);
  const marks = await readMarks(tx, accountIds);

  const accountsByProject = new Map(projects.map(({ projectId, accountId }) => [projectId, accountId]));
  const projectsByAccount = Map.groupBy(projects, ({ accountId }) => accountId);
  const keysByAccount = Map.groupBy(keys, ({ projectId }) => accountsByProject.get(projectId) ?? '');
  const budgetsByAccount = Map.groupBy(budgets, ({ accountId }) => accountId);
  const webhooksByAccount = Map.groupBy(webhooks, ({ accountId }) => accountId);
  const marksByAccount = Map.groupBy(marks, ({ accountId }) => accountId);
  return new Map(
    accounts.map((account): [string, TenantState] => {
      const id = account.accountId;
      return [
        id,
        {
          account,
          credit: credits.get(id) ?? null,
          projects: projectsByAccount.get(id) ?? [],
          keys: keysByAccount.get(id) ?? [],
          budgets: budgetsByAccount.get(id) ?? [],
          webhooks: webhooksByAccount.get(id) ?? [],
          marks: marksByAccount.get(id) ?? [],
        },
      ];
    }),
  );
}
