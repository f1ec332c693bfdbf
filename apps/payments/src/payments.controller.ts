import { Controller, Inject } from '@nestjs/common';
import { AuditListRequest, paymentsAuditList } from '#contracts/audit.js';
import {
  type AutoTopup,
  AutoTopupRequest,
  AutoTopupSetRequest,
  autoTopupRemove,
  autoTopupSet,
  autoTopupShow,
  type CheckoutCreateReply,
  CheckoutCreateRequest,
  checkoutCreate,
} from '#contracts/payments.js';
import { listAudit } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { RuledAccounts } from './auto/ruled-accounts.js';
import { Checkouts } from './checkout/create-checkout.js';

export const PRISMA = Symbol('prisma');
export const LOGGER = Symbol('logger');

@Controller()
export class PaymentsController {
  constructor(
    private readonly checkouts: Checkouts,
    private readonly rules: RuledAccounts,
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Serves(checkoutCreate)
  checkout(request: CheckoutCreateRequest): Promise<CheckoutCreateReply> {
    return this.checkouts.create(request);
  }

  @Serves(autoTopupSet)
  setRule(request: AutoTopupSetRequest, { caller }: CallContext): Promise<AutoTopup> {
    return this.rules.set(request, { caller, logger: this.logger });
  }

  @Serves(autoTopupRemove)
  removeRule({ accountId }: AutoTopupRequest, { caller }: CallContext): Promise<AutoTopup> {
    return this.rules.remove(accountId, { caller, logger: this.logger });
  }

  @Serves(autoTopupShow)
  showRule({ accountId }: AutoTopupRequest): Promise<AutoTopup> {
    return this.rules.show(accountId);
  }

  @Serves(paymentsAuditList)
  audit(request: AuditListRequest) {
    return listAudit(this.prisma, 'payments', request);
  }
}
