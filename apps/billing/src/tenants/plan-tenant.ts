import type { NewTenantKey, TenantAccount } from '#contracts/billing/tenants.js';
import { Planning } from './planning.js';
import { planAccount } from './tenant-account.js';
import { planBudgets } from './tenant-budgets.js';
import { planCredit } from './tenant-credit.js';
import { planProjects } from './tenant-projects.js';
import type { TenantState } from './tenant-state.js';
import { planWebhooks } from './tenant-webhooks.js';

/**
 * Compares an account with its wanted state, in the order in which an apply makes the changes. Pure, except for the ids of what is new;
 * those of keys are in `newKeys`.
 */
export function planTenant(
  wanted: TenantAccount,
  state: TenantState | undefined,
  newKeys: readonly NewTenantKey[] = [],
  now = Date.now(),
): Planning {
  const planning = new Planning(wanted, state, newKeys, now);
  planAccount(planning);
  planCredit(planning);
  planProjects(planning);
  planBudgets(planning, wanted.budgets, { projectId: null, keyId: null }, {}, []);
  planWebhooks(planning);
  return planning;
}
