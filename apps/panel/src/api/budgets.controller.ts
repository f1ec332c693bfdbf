import { Controller, Param, Req } from '@nestjs/common';
import { BudgetRemoveRequest, BudgetSetRequest, budgetRemove, budgetSet } from '#contracts/billing/budgets.js';
import { IdPipe } from '../http/id.pipe.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type { Budget, BudgetListReply, BudgetValuesReply } from '../shapes/billing.js';
import { BudgetsQuery, BudgetValuesQuery, listBudgets, listBudgetValues } from './list-budgets.js';

@Controller()
export class BudgetsController {
  constructor(private readonly services: Services) {}

  @Handles('listBudgets')
  list(@Input(BudgetsQuery) query: BudgetsQuery): Promise<BudgetListReply> {
    return listBudgets(this.services, query);
  }

  @Handles('listBudgetValues')
  listValues(@Input(BudgetValuesQuery) query: BudgetValuesQuery): Promise<BudgetValuesReply> {
    return listBudgetValues(this.services, query);
  }

  /** Billing decides in its transaction whether the budget exists, so that of two callers one is refused. */
  @Handles('createBudget')
  create(@Req() request: PanelRequest, @Input(BudgetSetRequest) message: BudgetSetRequest): Promise<Budget> {
    return this.services.change(request, budgetSet, { ...message, createOnly: true });
  }

  @Handles('setBudget')
  set(@Req() request: PanelRequest, @Input(BudgetSetRequest) message: BudgetSetRequest): Promise<Budget> {
    return this.services.change(request, budgetSet, message);
  }

  @Handles('removeBudget')
  remove(
    @Req() request: PanelRequest,
    @Param('accountId', IdPipe) accountId: string,
    @Input(BudgetRemoveRequest) message: BudgetRemoveRequest,
  ): Promise<Budget> {
    // The guards have checked the account of the path. Billing demands that it has the budget.
    return this.services.change(request, budgetRemove, { ...message, accountId });
  }
}
