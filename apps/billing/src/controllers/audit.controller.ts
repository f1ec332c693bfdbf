import { Controller } from '@nestjs/common';
import { AuditListRequest, billingAuditList } from '#contracts/audit.js';
import { listAudit } from '#database/audit-journal.js';
import { JournalReads } from '#database/journal-reads.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { nameReader } from '../accounts/name-reader.js';

@Controller()
export class AuditController {
  constructor(private readonly reads: JournalReads) {}

  @Serves(billingAuditList)
  async list(request: AuditListRequest, { caller }: CallContext) {
    const reader = nameReader(caller, request.accountId);
    return this.reads.read(reader, [billingAuditList.subject, request], (prisma) => listAudit(prisma, 'billing', request));
  }
}
