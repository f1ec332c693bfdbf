import { Controller, Inject } from '@nestjs/common';
import {
  AdjustmentCreateRequest,
  adjustmentCreate,
  type Balance,
  BalanceGetRequest,
  balanceGet,
  PlanGrantRequest,
  planGrant,
  RefundCreateRequest,
  refundCreate,
  TopupCreateRequest,
  topupCreate,
} from '#contracts/billing/money.js';
import { MovementListRequest, movementList } from '#contracts/billing/movements.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Serves } from '#messaging/serves.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { listMovements } from '../ledger/list-movements.js';
import { MoneyOperations } from '../ledger/money-operations.js';
import { readBalance } from '../ledger/read-balance.js';
import { PRISMA } from './injected.js';

@Controller()
export class MoneyController {
  constructor(
    private readonly operations: MoneyOperations,
    @Inject(PRISMA) private readonly prisma: PrismaClient,
  ) {}

  @Serves(balanceGet)
  async balance({ accountId }: BalanceGetRequest): Promise<Balance & { expiredHeld: string }> {
    return orUnavailable(readBalance(this.prisma, accountId));
  }

  @Serves(topupCreate)
  async topUp(request: TopupCreateRequest) {
    return this.operations.topUp(request);
  }

  @Serves(planGrant)
  async grant(request: PlanGrantRequest) {
    return this.operations.grant(request);
  }

  @Serves(refundCreate)
  async refund(request: RefundCreateRequest) {
    return this.operations.refund(request);
  }

  @Serves(adjustmentCreate)
  async adjust(request: AdjustmentCreateRequest) {
    return this.operations.adjust(request);
  }

  @Serves(movementList)
  async movements(request: MovementListRequest) {
    return orUnavailable(listMovements(this.prisma, request));
  }
}
