import { Controller, Param, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import {
  AdjustmentCreateRequest,
  adjustmentCreate,
  CreditNoteCreateRequest,
  creditNoteCreate,
  PlanGrantRequest,
  planGrant,
  RefundCreateRequest,
  refundCreate,
  TopupCreateRequest,
  topupCreate,
} from '#contracts/billing/money.js';
import { MovementListRequest, movementList } from '#contracts/billing/movements.js';
import { receiptList } from '#contracts/billing/receipts.js';
import { IdPipe } from '../http/id.pipe.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { readNames } from '../services/read-names.js';
import { onePage, readPages, Services } from '../services/services.js';
import type {
  AdjustmentCreateReply,
  CreditNoteCreateReply,
  MovementListReply,
  PlanGrantReply,
  RefundCreateReply,
  Statement,
  TopupCreateReply,
} from '../shapes/billing.js';
import { readStatement } from '../statements/statement.js';
import { StatementPdfs } from '../statements/statement-pdfs.js';
import { sendCsv, sendFile } from './csv.js';
import { RECEIPT_TYPE } from './receipt-type.js';
import { STATEMENT_COLUMNS, statementTable } from './statement-table.js';

@Controller()
export class MoneyController {
  constructor(
    private readonly services: Services,
    private readonly pdfs: StatementPdfs,
  ) {}

  @Handles('listMovements')
  movements(@Req() request: PanelRequest, @Input(MovementListRequest) query: MovementListRequest): Promise<MovementListReply> {
    return this.services.askingFor(request).ask(movementList, query);
  }

  // Before `showStatement`: the router takes the first method that fits, and `:month` fits `2027-01.csv`.
  @Handles('downloadStatement')
  async download(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Param('accountId') accountId: string,
    @Param('month') month: string,
  ): Promise<void> {
    const statement = await readStatement(this.services.askingFor(request), accountId, month);
    await sendCsv(response, `statement-${statement.month}.csv`, STATEMENT_COLUMNS, onePage(statementTable(statement)));
  }

  @Handles('downloadStatementPdf')
  async downloadPdf(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Param('accountId') accountId: string,
    @Param('month') month: string,
  ): Promise<void> {
    const services = this.services.askingFor(request);
    const statement = await readStatement(services, accountId, month);
    const names = await readNames(services, ['account'], { accountId });
    const bytes = await this.pdfs.render(statement, names('account', statement.accountId) ?? '');
    response.status(200).type('application/pdf').attachment(`statement-${statement.month}.pdf`).end(bytes);
  }

  @Handles('downloadReceipts')
  async downloadReceipts(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Param('accountId') accountId: string,
    @Param('month') month: string,
  ): Promise<void> {
    const services = this.services.askingFor(request);
    const pages = readPages(async (cursor) => {
      const { lines, nextCursor } = await services.ask(receiptList, { accountId, month, cursor });
      return { rows: [lines], nextCursor };
    });
    await sendFile(response, { name: `receipts-${month}.jsonl`, type: RECEIPT_TYPE }, joinRows(pages));
  }

  @Handles('showStatement')
  statement(@Req() request: PanelRequest, @Param('accountId') accountId: string, @Param('month') month: string): Promise<Statement> {
    return readStatement(this.services.askingFor(request), accountId, month);
  }

  @Handles('createTopup')
  topUp(@Req() request: PanelRequest, @Input(TopupCreateRequest) message: TopupCreateRequest): Promise<TopupCreateReply> {
    return this.services.change(request, topupCreate, message);
  }

  @Handles('createRefund')
  refund(@Req() request: PanelRequest, @Input(RefundCreateRequest) message: RefundCreateRequest): Promise<RefundCreateReply> {
    return this.services.change(request, refundCreate, message);
  }

  @Handles('createAdjustment')
  adjust(@Req() request: PanelRequest, @Input(AdjustmentCreateRequest) message: AdjustmentCreateRequest): Promise<AdjustmentCreateReply> {
    return this.services.change(request, adjustmentCreate, message);
  }

  /** Billing demands that the request is of the account of the path, which the guards have checked. */
  @Handles('createCreditNote')
  creditNote(
    @Req() request: PanelRequest,
    @Param('accountId', IdPipe) accountId: string,
    @Input(CreditNoteCreateRequest) message: CreditNoteCreateRequest,
  ): Promise<CreditNoteCreateReply> {
    return this.services.change(request, creditNoteCreate, { ...message, accountId });
  }

  @Handles('createGrant')
  grant(@Req() request: PanelRequest, @Input(PlanGrantRequest) message: PlanGrantRequest): Promise<PlanGrantReply> {
    return this.services.change(request, planGrant, message);
  }
}

async function* joinRows(pages: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  for await (const rows of pages) yield rows.join('');
}
