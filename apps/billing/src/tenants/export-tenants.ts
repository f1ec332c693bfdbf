import type { AccountExportReply, AccountExportRequest, ExportedAccount } from '#contracts/billing/tenants.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { oldestFirst, readPage } from '../paging/read-page.js';
import { findAccounts, readTenants } from './read-tenants.js';
import { exportAccount } from './tenant-account.js';
import { exportBudgets } from './tenant-budgets.js';
import { exportCredit } from './tenant-credit.js';
import { exportProjects } from './tenant-projects.js';
import type { TenantState } from './tenant-state.js';
import { exportWebhooks } from './tenant-webhooks.js';

const PAGE = 50;

/** Lists the states of accounts as wanted states, which a plan finds equal. Fields that are not set are left out. */
export async function exportTenants(prisma: PrismaClient, request: AccountExportRequest): Promise<AccountExportReply> {
  const where = { id: request.accountId };
  const { rows, nextCursor } = await readPage(['export', where], { ...request, limit: PAGE }, (page) =>
    prisma.account.findMany({ where, orderBy: [...oldestFirst], ...page }),
  );
  const states = await readTenants(
    prisma,
    rows.map(({ id }) => id),
  );
  const named = await findAccounts(
    prisma,
    rows.map(({ name }) => ({ name })),
  );
  const accounts = rows.flatMap(({ id }, index) => {
    const state = states.get(id);
    return state ? [exportTenant(state, (named[index] ?? []).length > 1)] : [];
  });
  return { accounts, nextCursor };
}

function exportTenant(state: TenantState, hasNamesake: boolean, now = Date.now()): ExportedAccount {
  const { accountId } = state.account;
  const leftOut: string[] = [];
  const credit = exportCredit(state);
  const account = {
    ...(hasNamesake && { accountId }),
    ...exportAccount(state, now),
    ...(credit && { credit }),
    budgets: exportBudgets(state, { projectId: null, keyId: null }, leftOut),
    projects: exportProjects(state, leftOut),
    webhooks: exportWebhooks(state),
  };
  const mark = state.marks.find(({ kind }) => kind === 'account');
  return { accountId, account, ...(mark && { managedBy: mark.source }), leftOut };
}
