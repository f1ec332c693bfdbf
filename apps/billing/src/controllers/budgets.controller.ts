import { Controller, Inject } from '@nestjs/common';
import {
  type Budget,
  BudgetListRequest,
  BudgetRemoveRequest,
  BudgetSetRequest,
  BudgetValuesRequest,
  budgetList,
  budgetRemove,
  budgetSet,
  budgetValues,
} from '#contracts/billing/budgets.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { listBudgets, removeBudget, setBudget } from '../budgets/budgets.js';
import { listBudgetValues } from '../budgets/list-values.js';
import { LOGGER, PRISMA } from './injected.js';

@Controller()
export class BudgetsController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Serves(budgetSet)
  async set(request: BudgetSetRequest, { caller }: CallContext): Promise<Budget> {
    return setBudget(this.prisma, request, { caller, logger: this.logger });
  }

  @Serves(budgetList)
  async list(request: BudgetListRequest) {
    return listBudgets(this.prisma, request);
  }

  @Serves(budgetValues)
  async values(request: BudgetValuesRequest) {
    return listBudgetValues(this.prisma, request);
  }

  @Serves(budgetRemove)
  async remove(request: BudgetRemoveRequest, { caller }: CallContext): Promise<Budget> {
    return removeBudget(this.prisma, request, { caller, logger: this.logger });
  }
}
