import { Controller, Inject } from '@nestjs/common';
import {
  AdjustmentCreateRequest,
  adjustmentCreate,
  type Balance,
  BalanceGetRequest,
  balanceGet,
  CreditNoteCreateRequest,
  creditNoteCreate,
  PlanGrantRequest,
  planGrant,
  RefundCreateRequest,
  refundCreate,
  TopupCreateRequest,
  topupCreate,
} from '#contracts/billing/money.js';
import { MovementListRequest, movementList } from '#contracts/billing/movements.js';
import { PlanCancelRequest, PlanShowRequest, PlanSubscribeRequest, planCancel, planShow, planSubscribe } from '#contracts/billing/plans.js';
import { JournalReads } from '#database/journal-reads.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { nameReader } from '../accounts/name-reader.js';
import { readBalance } from '../balance/read-balance.js';
import { listMovements } from '../ledger/list-movements.js';
import { MoneyOperations } from '../ledger/money-operations.js';
import { cancelPlan, showPlan, subscribePlan } from '../ledger/plan-subscriptions.js';
import { LOGGER, PRISMA } from './injected.js';

@Controller()
export class MoneyController {
  constructor(
    private readonly operations: MoneyOperations,
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    private readonly reads: JournalReads,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Serves(balanceGet)
  async balance({ accountId }: BalanceGetRequest): Promise<Balance & { expiredHeld: string }> {
    return readBalance(this.prisma, accountId);
  }

  @Serves(topupCreate)
  async topUp(request: TopupCreateRequest, { caller }: CallContext) {
    return this.operations.topUp(request, { caller, logger: this.logger });
  }

  @Serves(planGrant)
  async grant(request: PlanGrantRequest, { caller }: CallContext) {
    return this.operations.grant(request, { caller, logger: this.logger });
  }

  @Serves(planSubscribe)
  async subscribe(request: PlanSubscribeRequest, { caller }: CallContext) {
    return subscribePlan(this.prisma, request, { caller, logger: this.logger });
  }

  @Serves(planShow)
  async plan({ accountId }: PlanShowRequest) {
    return showPlan(this.prisma, accountId);
  }

  @Serves(planCancel)
  async cancelPlan({ accountId }: PlanCancelRequest, { caller }: CallContext) {
    return cancelPlan(this.prisma, accountId, { caller, logger: this.logger });
  }

  @Serves(refundCreate)
  async refund(request: RefundCreateRequest, { caller }: CallContext) {
    return this.operations.refund(request, { caller, logger: this.logger });
  }

  @Serves(adjustmentCreate)
  async adjust(request: AdjustmentCreateRequest, { caller }: CallContext) {
    return this.operations.adjust(request, { caller, logger: this.logger });
  }

  @Serves(creditNoteCreate)
  async creditNote(request: CreditNoteCreateRequest, { caller }: CallContext) {
    return this.operations.creditNote(request, { caller, logger: this.logger });
  }

  @Serves(movementList)
  async movements(request: MovementListRequest, { caller }: CallContext) {
    const reader = nameReader(caller, request.accountId);
    return this.reads.read(reader, [movementList.subject, request], (prisma) => listMovements(prisma, request));
  }
}
