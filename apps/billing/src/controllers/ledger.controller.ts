import { Controller } from '@nestjs/common';
import { LedgerCheckListRequest, LedgerCheckRequest, ledgerCheck, ledgerCheckList } from '#contracts/billing/ledger.js';
import { ServiceError } from '#contracts/service-error.js';
import { JournalReads, OPERATOR } from '#database/journal-reads.js';
import { Serves } from '#messaging/serves.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { Auditor } from '../ledger/auditor.js';
import { listReports } from '../ledger/ledger-reports.js';

@Controller()
export class LedgerController {
  constructor(
    private readonly auditor: Auditor,
    private readonly reads: JournalReads,
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
    return orUnavailable(this.reads.read(OPERATOR, [ledgerCheckList.subject, request], (prisma) => listReports(prisma, request)));
  }
}
