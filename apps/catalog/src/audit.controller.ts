import { Controller, Inject } from '@nestjs/common';
import { AuditListRequest, catalogAuditCheck, catalogAuditList } from '#contracts/audit.js';
import { type UpstreamTestRecordReply, UpstreamTestRecordRequest, upstreamTestRecord } from '#contracts/probe.js';
import { checkAuditChain } from '#database/audit-chain.js';
import { listAudit } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { UpstreamTests } from './upstream-tests.js';

export const PRISMA = Symbol('prisma');

@Controller()
export class AuditController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    private readonly tests: UpstreamTests,
  ) {}

  @Serves(catalogAuditList)
  async list(request: AuditListRequest) {
    return listAudit(this.prisma, 'catalog', request);
  }

  @Serves(upstreamTestRecord)
  recordTest(request: UpstreamTestRecordRequest, { caller }: CallContext): Promise<UpstreamTestRecordReply> {
    return this.tests.record(request, caller);
  }

  @Serves(catalogAuditCheck)
  async check() {
    return checkAuditChain(this.prisma, 'catalog');
  }
}
