import { Controller, Inject } from '@nestjs/common';
import { AuditListRequest, catalogAuditCheck, catalogAuditList } from '#contracts/audit.js';
import { checkAuditChain } from '#database/audit-chain.js';
import { listAudit } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Serves } from '#messaging/serves.js';

export const PRISMA = Symbol('prisma');

@Controller()
export class AuditController {
  constructor(@Inject(PRISMA) private readonly prisma: PrismaClient) {}

  @Serves(catalogAuditList)
  async list(request: AuditListRequest) {
    return listAudit(this.prisma, 'catalog', request);
  }

  @Serves(catalogAuditCheck)
  async check() {
    return checkAuditChain(this.prisma, 'catalog');
  }
}
