import { Controller, Inject } from '@nestjs/common';
import { AuditListRequest, billingAuditList } from '#contracts/audit.js';
import { listAudit } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Serves } from '#messaging/serves.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { PRISMA } from './injected.js';

@Controller()
export class AuditController {
  constructor(@Inject(PRISMA) private readonly prisma: PrismaClient) {}

  @Serves(billingAuditList)
  async list(request: AuditListRequest) {
    return orUnavailable(listAudit(this.prisma, 'billing', request));
  }
}
