import type { Budget, BudgetListReply, BudgetPeriod, BudgetSetRequest, BudgetUnit } from '#contracts/billing/budgets.js';

/** `GET /accounts/{a}/budgets` replies `BudgetListReply`. `DELETE /accounts/{a}/budgets/{budgetId}` replies the `Budget` as it was. */
export type { Budget, BudgetListReply, BudgetPeriod, BudgetUnit };

/**
 * `POST /accounts/{a}/budgets` makes a budget: 409 `conflict` when the target has one for the period in the unit, whose `budgetId` and limit are
 * the `details` of the error. `PUT` creates the budget, or changes the limit and the settings of the one that exists. Both reply `Budget`.
 */
export type BudgetSetBody = Omit<BudgetSetRequest, 'accountId' | 'createOnly'>;
