import { Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { AuditListRequest } from '#contracts/audit.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { readNames } from '../services/read-names.js';
import { nameReader, readPages, Services } from '../services/services.js';
import type { AuditEntry, AuditListReply } from '../shapes/audit.js';
import { AuditJournals } from './audit/audit-journals.js';
import { type Columns, fieldColumns, nameFile, sendCsv } from './csv.js';

const PAGE_ROWS = 200;

@Controller()
export class AuditController {
  constructor(
    private readonly journals: AuditJournals,
    private readonly services: Services,
  ) {}

  @Handles('listAudit')
  list(@Req() request: PanelRequest, @Input(AuditListRequest) query: AuditListRequest): Promise<AuditListReply> {
    requireAccount(request, query);
    return this.journals.list(query, this.services.askingFor(request), nameReader(request, query.accountId));
  }

  @Handles('downloadAudit')
  async download(@Req() request: PanelRequest, @Res() response: Response, @Input(AuditListRequest) query: AuditListRequest): Promise<void> {
    requireAccount(request, query);
    const services = this.services.askingFor(request);
    const pages = readPages(async (cursor) => {
      const { entries, nextCursor } = await this.journals.list(
        { ...query, limit: PAGE_ROWS, cursor },
        services,
        nameReader(request, query.accountId),
      );
      return { rows: entries, nextCursor };
    });
    const names = await readNames(services, query.accountId === undefined ? [] : ['account'], { accountId: query.accountId });
    const period = { from: query.from, to: query.to ?? new Date().toISOString() };
    const name = nameFile('audit', query.accountId && (names('account', query.accountId) ?? ''), period);
    await sendCsv(response, name, COLUMNS, pages);
  }
}

/** Without an account the list is that of the platform. */
function requireAccount(request: PanelRequest, { accountId }: AuditListRequest): void {
  requireCaller(request).access.require('audit.read', accountId ?? null);
}

const COLUMNS: Columns<AuditEntry> = {
  ...fieldColumns('id', 'service', 'at', 'actor', 'actorName', 'via', 'ip', 'requestId', 'action', 'accountId', 'target', 'reason'),
  before: ({ before }) => before && JSON.stringify(before),
  after: ({ after }) => after && JSON.stringify(after),
};
