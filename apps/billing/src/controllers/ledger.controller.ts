import { Controller, Inject } from '@nestjs/common';
import { LedgerCheckListRequest, LedgerCheckRequest, ledgerCheck, ledgerCheckList } from '#contracts/billing/ledger.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Serves } from '#messaging/serves.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { Auditor } from '../ledger/auditor.js';
import { listReports } from '../ledger/ledger-reports.js';
import { PRISMA } from './injected.js';

@Controller()
export class LedgerController {
  constructor(
    private readonly auditor: Auditor,
    @Inject(PRISMA) private readonly prisma: PrismaClient,
  ) {}

  @Serves(ledgerCheck)
  async check(request: LedgerCheckRequest) {
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
    return orUnavailable(listReports(this.prisma, request));
  }
}
