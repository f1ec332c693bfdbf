import { Controller, Req } from '@nestjs/common';
import { EmptyRequest } from '#contracts/catalog.js';
import { LedgerCheckListRequest, ledgerCheck, ledgerCheckList } from '#contracts/billing/ledger.js';
import { Handles } from '../http/handles.decorator.js';
import { Services } from '../services/services.js';
import { Input } from './input.decorator.js';
import type { LedgerCheckListReply, LedgerCheckReply } from './shapes/ledger.js';

/** A check of a large ledger takes minutes. */
const CHECK_MS = 600_000;

@Controller()
export class LedgerController {
  constructor(private readonly services: Services) {}

  @Handles('listLedgerChecks')
  list(@Input(LedgerCheckListRequest) query: LedgerCheckListRequest): Promise<LedgerCheckListReply> {
    return this.services.ask(ledgerCheckList, query);
  }

  /** Reads everything and changes nothing but frozen accounts, so it is no change of the caller. */
  @Handles('checkLedger')
  check(): Promise<LedgerCheckReply> {
    return this.services.ask(ledgerCheck, new EmptyRequest(), CHECK_MS);
  }
}
