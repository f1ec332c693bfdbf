import { Controller, Inject } from '@nestjs/common';
import {
  type Balance,
  BalanceGetRequest,
  balanceGet,
  type PlanGrantReply,
  PlanGrantRequest,
  planGrant,
  type TopupCreateReply,
  TopupCreateRequest,
  topupCreate,
} from '#contracts/billing/money.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Serves } from '#messaging/serves.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { readBalance } from '../ledger/read-balance.js';
import { Treasury } from '../ledger/treasury.js';
import { PRISMA } from './injected.js';

@Controller()
export class MoneyController {
  constructor(
    private readonly treasury: Treasury,
    @Inject(PRISMA) private readonly prisma: PrismaClient,
  ) {}

  @Serves(balanceGet)
  async balance({ accountId }: BalanceGetRequest): Promise<Balance & { expiredHeld: string }> {
    return orUnavailable(readBalance(this.prisma, accountId));
  }

  @Serves(topupCreate)
  async topUp(request: TopupCreateRequest): Promise<TopupCreateReply> {
    return this.treasury.topUp(request);
  }

  @Serves(planGrant)
  async grant(request: PlanGrantRequest): Promise<PlanGrantReply> {
    return this.treasury.grant(request);
  }
}
