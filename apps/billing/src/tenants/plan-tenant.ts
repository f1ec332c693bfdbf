import type { NewTenantKey, TenantAccount } from '#contracts/billing/tenants.js';
import { Planning } from './planning.js';
import { planAccount } from './tenant-account.js';
import { planBudgets } from './tenant-budgets.js';
import { planCredit } from './tenant-credit.js';
import { planMarks } from './tenant-marks.js';
import { planProjects } from './tenant-projects.js';
import type { TenantState } from './tenant-state.js';
import { planWebhooks } from './tenant-webhooks.js';

interface PlanOptions {
  newKeys?: readonly NewTenantKey[];
  /** Owner of what the wanted state names. Absent: marks are not compared. */
  source?: string | undefined;
  /** True: only marks are compared, and the source is to own nothing. */
  release?: boolean | undefined;
  now?: number;
}

/**
 * Compares an account with its wanted state, in the order in which an apply makes the changes. Pure, except for the ids of what is new;
 * those of keys are in `newKeys`.
 */
export function planTenant(
  wanted: TenantAccount,
  state: TenantState | undefined,
  { newKeys = [], source, release = false, now = Date.now() }: PlanOptions = {},
): Planning {
  const planning = new Planning(wanted, state, newKeys, source, now);
  if (!release) {
    planAccount(planning);
    planCredit(planning);
    planProjects(planning);
    planBudgets(planning, wanted.budgets, { projectId: null, keyId: null }, {}, []);
    planWebhooks(planning);
  }
  planMarks(planning);
  return planning;
}
