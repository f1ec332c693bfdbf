import { Controller, Inject } from '@nestjs/common';
import {
  LedgerCheckListRequest,
  LedgerCheckRequest,
  LedgerLossesRequest,
  ledgerCheck,
  ledgerCheckList,
  ledgerLosses,
} from '#contracts/billing/ledger.js';
import { ServiceError } from '#contracts/service-error.js';
import { auditedAct } from '#database/audit-journal.js';
import { JournalReads, OPERATOR } from '#database/journal-reads.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { Auditor } from '../ledger/auditor.js';
import { listReports } from '../ledger/ledger-reports.js';
import { listLosses } from '../ledger/list-losses.js';
import { LOGGER, PRISMA } from './injected.js';

@Controller()
export class LedgerController {
  constructor(
    private readonly auditor: Auditor,
    private readonly reads: JournalReads,
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Serves(ledgerCheck)
  async check(request: LedgerCheckRequest, { caller }: CallContext) {
    const act = { action: 'ledger.check', target: 'ledger', after: { full: request.full ?? false } };
    await auditedAct(this.prisma, 'billing', { caller, logger: this.logger }, act);
    try {
      return await this.auditor.check(request);
    } catch (error) {
      throw new ServiceError(
        'unavailable',
        'The ledger could not be checked: the database is away, took too long, or is being changed.',
        undefined,
        {
          cause: error,
        },
      );
    }
  }

  @Serves(ledgerCheckList)
  async list(request: LedgerCheckListRequest) {
    return this.reads.read(OPERATOR, [ledgerCheckList.subject, request], (prisma) => listReports(prisma, request));
  }

  @Serves(ledgerLosses)
  async losses(request: LedgerLossesRequest) {
    return this.reads.read(OPERATOR, [ledgerLosses.subject, request], (prisma) => listLosses(prisma, request));
  }
}
