import { Controller } from '@nestjs/common';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { ServiceError } from '#contracts/service-error.js';
import { Serves } from '#messaging/serves.js';
import { Auditor } from '../ledger/auditor.js';

@Controller()
export class LedgerController {
  constructor(private readonly auditor: Auditor) {}

  @Serves(ledgerCheck)
  async check() {
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
