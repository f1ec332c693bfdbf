import { type BudgetSetRequest, type BudgetUnit, budgetSet } from '#contracts/billing/budgets.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Tenant } from '#testing/tenant.js';
import type { Used } from './judge-governance.js';

/** Targets of a budget. `readGroup` names the group that it counts for itself; `share` is their number in a crowd. */
export const SCOPES = {
  account: { scope: () => ({}), readGroup: () => '', share: 1 },
  project: { scope: ({ projectId }: Tenant) => ({ projectId }), readGroup: () => '', share: 1 },
  key: { scope: ({ keyId }: Tenant) => ({ keyId }), readGroup: () => '', share: 1 },
  'each user': { scope: () => ({ dimension: 'user' }), readGroup: ({ user }: Used) => user, share: 20 },
  'each session': { scope: () => ({ dimension: 'session' }), readGroup: ({ session }: Used) => session, share: 10 },
  'each team': { scope: () => ({ dimension: 'tag:team' }), readGroup: ({ team }: Used) => team, share: 4 },
};
export type Scope = keyof typeof SCOPES;

/** Amount of a request in the unit of a budget. */
export const AMOUNT_OF = { usd: ({ costPicoUsd }: Used) => costPicoUsd, tokens: ({ tokens }: Used) => tokens };

export type BudgetTerms = Pick<BudgetSetRequest, 'period'> & Partial<BudgetSetRequest>;

/** Sets a budget of a tenant's account to a limit in pico-USD or tokens. */
export function setBudgetTo(administrator: Messaging, { accountId }: Tenant, budget: BudgetTerms, unit: BudgetUnit, to: bigint) {
  const limit = unit === 'usd' ? { limitPicoUsd: `${to}` } : { limitTokens: Number(to) };
  return administrator.request(budgetSet, { accountId, ...budget, ...limit });
}
