import { Controller, Req } from '@nestjs/common';
import { LedgerCheckListRequest, ledgerCheck, ledgerCheckList } from '#contracts/billing/ledger.js';
import { MarginQuestion, usageMargin } from '#contracts/billing/margin.js';
import { costList } from '#contracts/route-costs.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type { JournalCheckListReply, LedgerCheckListReply, LedgerCheckReply, UsageMarginReply } from '../shapes/billing.js';
import { AuditJournals } from './audit/audit-journals.js';

/** A check of a large ledger takes minutes, and so does the margin of a large month. */
const CHECK_MS = 600_000;

@Controller()
export class LedgerController {
  constructor(
    private readonly services: Services,
    private readonly journals: AuditJournals,
  ) {}

  @Handles('listLedgerChecks')
  list(@Input(LedgerCheckListRequest) request: LedgerCheckListRequest): Promise<LedgerCheckListReply> {
    return this.services.ask(ledgerCheckList, request);
  }

  @Handles('checkLedger')
  check(@Req() request: PanelRequest): Promise<LedgerCheckReply> {
    return this.services.change(request, ledgerCheck, {}, CHECK_MS);
  }

  @Handles('checkJournals')
  checkJournals(): Promise<JournalCheckListReply> {
    return this.journals.check();
  }

  @Handles('showMargin')
  async margin(@Input(MarginQuestion) question: MarginQuestion): Promise<UsageMarginReply> {
    const { costs } = await this.services.ask(costList, { month: question.month });
    return this.services.ask(usageMargin, { ...question, costs }, CHECK_MS);
  }
}
