import { Controller } from '@nestjs/common';
import { type LedgerCheckReply, ledgerCheck } from '#contracts/billing/ledger.js';
import { ServiceError } from '#contracts/service-error.js';
import { Serves } from '#messaging/serves.js';
import { Auditor } from '../ledger/auditor.js';

@Controller()
export class LedgerController {
  constructor(private readonly auditor: Auditor) {}

  @Serves(ledgerCheck)
  async check(): Promise<LedgerCheckReply> {
    try {
      return await this.auditor.check();
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
}
