import { Controller, Inject } from '@nestjs/common';
import { keyChanged, keyRevoked } from '#contracts/billing/events.js';
import {
  AccountApplyRequest,
  AccountExportRequest,
  AccountPlanRequest,
  accountApply,
  accountExport,
  accountPlan,
} from '#contracts/billing/tenants.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext, Messaging } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { BillingConfig } from '../billing.config.js';
import { exportTenants } from '../tenants/export-tenants.js';
import type { Stale } from '../tenants/planning.js';
import { applyTenant, planTenants } from '../tenants/tenants.js';
import { LOGGER, MESSAGING, PRISMA } from './injected.js';

@Controller()
export class TenantsController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(MESSAGING) private readonly messaging: Pick<Messaging, 'publish'>,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly config: BillingConfig,
  ) {}

  @Serves(accountPlan)
  async plan(request: AccountPlanRequest) {
    return { plans: await planTenants(this.prisma, request) };
  }

  @Serves(accountApply)
  async apply(request: AccountApplyRequest, { caller }: CallContext) {
    const { projectsMaxDefault: projectsMax, activeKeysMaxDefault: keysMax, keyPepper } = this.config;
    const { requestsPerMinuteDefault: requestsPerMinute, concurrencyDefault: concurrency } = this.config;
    const defaults = { maxima: { projectsMax, keysMax }, limits: { requestsPerMinute, concurrency }, keyPepper };
    const { reply, stale } = await applyTenant(this.prisma, request, defaults, { caller, logger: this.logger });
    await this.announce(stale);
    return reply;
  }

  @Serves(accountExport)
  async export(request: AccountExportRequest) {
    return exportTenants(this.prisma, request);
  }

  /** Gateways keep keys with their project and the price plan of the account: tells them what has changed. */
  private async announce(stale: readonly Stale[]): Promise<void> {
    const accountIds = stale.flatMap((one) => ('accountId' in one ? one.accountId : []));
    const keyIds = stale.flatMap((one) => ('keyId' in one ? one.keyId : []));
    const projects = new Set(stale.flatMap((one) => ('projectId' in one ? one.projectId : [])));
    const repriced =
      accountIds.length === 0 ? [] : await this.prisma.project.findMany({ where: { accountId: { in: accountIds } }, select: { id: true } });
    for (const { id } of repriced) projects.add(id);
    for (const projectId of projects) this.messaging.publish(keyChanged, { projectId });
    const rows =
      keyIds.length === 0
        ? []
        : await this.prisma.apiKey.findMany({
            where: { id: { in: keyIds } },
            select: { id: true, projectId: true, revokedAt: true },
          });
    for (const { id: keyId, projectId, revokedAt } of rows) {
      this.messaging.publish(keyChanged, { keyId, projectId });
      if (revokedAt) this.messaging.publish(keyRevoked, { keyId, projectId, revokedAt: revokedAt.toISOString() });
    }
  }
}
