import { Controller } from '@nestjs/common';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { Handles } from '../http/handles.decorator.js';
import { Services } from '../services/services.js';
import type { LedgerCheckReply } from './shapes/ledger.js';

/** A check of a large ledger takes minutes. */
const CHECK_MS = 600_000;

@Controller()
export class LedgerController {
  constructor(private readonly services: Services) {}

  @Handles('checkLedger')
  check(): Promise<LedgerCheckReply> {
    return this.services.ask(ledgerCheck, {}, CHECK_MS);
  }
}
