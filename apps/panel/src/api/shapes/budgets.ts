import type { Budget, BudgetListReply, BudgetPeriod, BudgetSetRequest, BudgetUnit } from '#contracts/billing/budgets.js';

/** `GET /accounts/{a}/budgets` replies `BudgetListReply`. `DELETE /accounts/{a}/budgets/{budgetId}` replies the `Budget` as it was. */
export type { Budget, BudgetListReply, BudgetPeriod, BudgetUnit };

/** `PUT /accounts/{a}/budgets`. Replies `Budget`. The same target and period again changes the limit. */
export type BudgetSetBody = Omit<BudgetSetRequest, 'accountId'>;
