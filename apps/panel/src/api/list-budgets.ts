import { IsOptional } from 'class-validator';
import { BudgetListRequest, BudgetValuesRequest, budgetList, budgetValues } from '#contracts/billing/budgets.js';
import { Id } from '#contracts/billing/fields.js';
import { notFound } from '../permissions/permissions.js';
import type { AskServices } from '../services/services.js';
import type { BudgetListReply, BudgetValuesReply } from '../shapes/billing.js';

export class BudgetsQuery extends BudgetListRequest {
  /** Only the budgets of this project and of its keys. */
  @IsOptional() @Id() projectId?: string;
}

/** Budgets of an account, or of one project of it. An account has few, so billing sends them all. */
export async function listBudgets(services: AskServices, { projectId, ...query }: BudgetsQuery): Promise<BudgetListReply> {
  const { budgets } = await services.ask(budgetList, query);
  return { budgets: projectId === undefined ? budgets : budgets.filter((budget) => budget.projectId === projectId) };
}

export class BudgetValuesQuery extends BudgetValuesRequest {
  /** Only if the budget is of this project or one of its keys. */
  @IsOptional() @Id() projectId?: string;
}

/** @throws {PanelError} `not_found` for a budget of another project: its values are the users and sessions of that project. */
export async function listBudgetValues(services: AskServices, { projectId, ...query }: BudgetValuesQuery): Promise<BudgetValuesReply> {
  const { accountId, budgetId } = query;
  const { budgets } = projectId === undefined ? { budgets: [] } : await services.ask(budgetList, { accountId, budgetId });
  if (projectId !== undefined && budgets[0]?.projectId !== projectId) throw notFound();
  return services.ask(budgetValues, query);
}
