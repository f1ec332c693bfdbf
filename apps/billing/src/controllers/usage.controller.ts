import { Controller, Inject } from '@nestjs/common';
import { UsageMarginRequest, usageMargin } from '#contracts/billing/margin.js';
import { UsageRerateRequest, usageRerate } from '#contracts/billing/rerate.js';
import { serviceList } from '#contracts/billing/services.js';
import { UsageQueryRequest, usageQuery, usageRebuild } from '#contracts/billing/usage.js';
import type { EmptyRequest } from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import { auditedAct } from '#database/audit-journal.js';
import { JournalReads } from '#database/journal-reads.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { nameReader } from '../accounts/name-reader.js';
import { MonthReports } from '../ledger/month-reports.js';
import { listServices } from '../usage/list-services.js';
import { queryUsage } from '../usage/query-usage.js';
import { UsageCloser } from '../usage/usage-closer.js';
import { LOGGER, PRISMA } from './injected.js';

@Controller()
export class UsageController {
  constructor(
    private readonly reads: JournalReads,
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly usageCloser: UsageCloser,
    private readonly reports: MonthReports,
  ) {}

  @Serves(usageQuery)
  async query(request: UsageQueryRequest, { caller }: CallContext) {
    const reader = nameReader(caller, request.accountId);
    return this.reads.read(reader, [usageQuery.subject, request], (prisma) => queryUsage(prisma, request));
  }

  @Serves(serviceList)
  services() {
    return listServices(this.prisma);
  }

  @Serves(usageRerate)
  rerate(request: UsageRerateRequest) {
    return this.reports.rerate(request).catch((cause) => refuse(cause, 'The month was not re-rated'));
  }

  @Serves(usageMargin)
  margin(request: UsageMarginRequest) {
    return this.reports.margin(request).catch((cause) => refuse(cause, 'The margin was not computed'));
  }

  @Serves(usageRebuild)
  async rebuild(_request: EmptyRequest, { caller }: CallContext) {
    const act = { action: 'usage.rebuild', target: 'usage/rollups' };
    await auditedAct(this.prisma, 'billing', { caller, logger: this.logger }, act);
    return this.usageCloser.rebuild().catch((cause) => refuse(cause, 'The rollups were not rebuilt'));
  }
}

/** Statements that take minutes fail with the database, by their timeout, and for a migration. */
function refuse(cause: unknown, what: string): never {
  if (cause instanceof ServiceError) throw cause;
  throw new ServiceError('unavailable', `${what}: the database is away, took too long, or is being changed.`, undefined, { cause });
}
