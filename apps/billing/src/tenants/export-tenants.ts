import type { Budget } from '#contracts/billing/budgets.js';
import type { ApiKey } from '#contracts/billing/keys.js';
import type { Project } from '#contracts/billing/projects.js';
import type {
  AccountExportReply,
  AccountExportRequest,
  ExportedAccount,
  TenantBudget,
  TenantKey,
  TenantProject,
} from '#contracts/billing/tenants.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { oldestFirst, readPage } from '../paging/read-page.js';
import type { TenantState } from './plan-tenant.js';
import { findAccounts, readTenants } from './read-tenants.js';
import { type Fields, storedAccount, storedBudget, storedCredit, storedKey, storedProject, storedWebhook } from './tenant-fields.js';

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
  const { account, credit, projects, budgets, webhooks } = state;
  const { name, status, statusReason, ...settings } = storedAccount(account, now);
  const leftOut: string[] = [];
  const isTwice = ({ name }: Project): boolean => projects.filter((one) => one.name === name).length > 1;
  return {
    accountId: account.accountId,
    account: {
      ...(hasNamesake && { accountId: account.accountId }),
      name: name as string,
      // An active account may be frozen by the auditor: the file must not undo it.
      ...(status === 'frozen' && { status, ...(statusReason !== null && { statusReason: statusReason as string }) }),
      ...withoutEmpty(settings),
      ...(credit && { credit: storedCredit(credit) as never }),
      budgets: exportBudgets(budgets, null, null, leftOut),
      projects: projects.map((project) => exportProject(project, state, isTwice(project), leftOut)),
      webhooks: webhooks
        .filter(({ url }, index) => webhooks.findIndex((one) => one.url === url) === index)
        .map((webhook) => ({ url: webhook.url, ...withoutEmpty(storedWebhook(webhook)) })),
    },
    leftOut,
  };
}

function exportProject(project: Project, { keys, budgets }: TenantState, isTwice: boolean, leftOut: string[]): TenantProject {
  const own = keys.filter(({ projectId }) => projectId === project.projectId);
  const named = own.filter((key) => key.name !== null && own.filter(({ name }) => name === key.name).length === 1);
  for (const key of own) {
    if (!named.includes(key))
      leftOut.push(
        `key ${key.name ?? `…${key.lastFour}`} of project ${project.name}: ${key.name === null ? 'it has no name' : 'others have its name'}`,
      );
  }
  const { name, enabled, ...settings } = storedProject(project);
  return {
    ...(isTwice && { projectId: project.projectId }),
    name: project.name,
    ...(!project.enabled && { enabled: false }),
    ...withoutEmpty(settings),
    budgets: exportBudgets(budgets, project.projectId, null, leftOut),
    keys: named.map((key) => exportKey(key, budgets, leftOut)),
  };
}

function exportKey(key: ApiKey, budgets: readonly Budget[], leftOut: string[]): TenantKey {
  return {
    name: key.name ?? '',
    ...withoutEmpty(storedKey(key)),
    budgets: exportBudgets(budgets, key.projectId, key.rootKeyId, leftOut),
  };
}

/** The budgets of the customer are theirs: a file that names them would make them the operator's. */
function exportBudgets(budgets: readonly Budget[], projectId: string | null, keyId: string | null, leftOut: string[]): TenantBudget[] {
  return budgets
    .filter((budget) => budget.projectId === projectId && budget.keyId === keyId)
    .flatMap((budget) => {
      if (budget.setBy === 'customer') {
        leftOut.push(`budget ${budget.period} ${budget.unit} (${budget.budgetId}): the customer has set it`);
        return [];
      }
      const { setBy: _, ...fields } = storedBudget(budget);
      const { period, dimension, value } = budget;
      // A budget of each value has no thresholds, and must not name any.
      const { thresholds, ...others } = fields as { thresholds: number[] };
      const isPerValue = dimension !== null && value === null;
      return [
        {
          period,
          ...others,
          ...(!isPerValue && { thresholds }),
          ...(dimension !== null && { dimension }),
          ...(value !== null && { value }),
        },
      ];
    });
}

/** Leaves out what is not set: no limit, no list, no money, no mark. */
function withoutEmpty(fields: Fields): Record<string, never> {
  const isEmpty = (value: unknown): boolean =>
    value === null || value === false || value === '0.00' || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value))) as Record<string, never>;
}
