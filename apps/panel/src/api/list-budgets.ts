import { IsOptional } from 'class-validator';
import { BudgetListRequest, budgetList } from '#contracts/billing/budgets.js';
import { Id } from '#contracts/billing/fields.js';
import type { AskServices } from '../services/services.js';
import type { BudgetListReply } from '../shapes/billing.js';

export class BudgetsQuery extends BudgetListRequest {
  /** Only the budgets of this project and of its keys. */
  @IsOptional() @Id() projectId?: string;
}

/** Budgets of an account, or of one project of it. An account has few, so billing sends them all. */
export async function listBudgets(services: AskServices, { projectId, ...query }: BudgetsQuery): Promise<BudgetListReply> {
  const { budgets } = await services.ask(budgetList, query);
  return { budgets: projectId === undefined ? budgets : budgets.filter((budget) => budget.projectId === projectId) };
}
