import { Controller, Inject } from '@nestjs/common';
import {
  AccountCreateRequest,
  AccountUpdateRequest,
  accountCreate,
  accountList,
  accountUpdate,
  ListRequest,
} from '#contracts/billing/accounts.js';
import { keyChanged } from '#contracts/billing/events.js';
import { ProjectCreateRequest, ProjectUpdateRequest, projectCreate, projectList, projectUpdate } from '#contracts/billing/projects.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext, Messaging } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { createAccount, listAccounts, updateAccount } from '../accounts/accounts.js';
import { createProject, listProjects, updateProject } from '../accounts/projects.js';
import { BillingConfig } from '../billing.config.js';
import { LOGGER, MESSAGING, PRISMA } from './injected.js';

@Controller()
export class AccountsController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(MESSAGING) private readonly messaging: Pick<Messaging, 'publish'>,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly config: BillingConfig,
  ) {}

  @Serves(accountCreate)
  async createAccount(request: AccountCreateRequest, { caller }: CallContext) {
    const { projectsMaxDefault: projectsMax, activeKeysMaxDefault: keysMax } = this.config;
    return createAccount(this.prisma, request, { caller, logger: this.logger }, { projectsMax, keysMax });
  }

  @Serves(accountUpdate)
  async updateAccount(request: AccountUpdateRequest, { caller }: CallContext) {
    const account = await updateAccount(this.prisma, request, { caller, logger: this.logger });
    if (request.pricePlan !== undefined) await this.publishKeysChanged(account.accountId);
    return account;
  }

  /** Gateways keep the price plan with each key of the account. */
  private async publishKeysChanged(accountId: string): Promise<void> {
    const projects = await this.prisma.project.findMany({ where: { accountId }, select: { id: true } });
    for (const { id } of projects) this.messaging.publish(keyChanged, { projectId: id });
  }

  @Serves(accountList)
  async listAccounts(request: ListRequest) {
    return listAccounts(this.prisma, request);
  }

  @Serves(projectCreate)
  async createProject(request: ProjectCreateRequest, { caller }: CallContext) {
    const { requestsPerMinuteDefault: requestsPerMinute, concurrencyDefault: concurrency } = this.config;
    const author = { caller, logger: this.logger };
    return createProject(this.prisma, request, { requestsPerMinute, concurrency }, author);
  }

  @Serves(projectUpdate)
  async updateProject(request: ProjectUpdateRequest, { caller }: CallContext) {
    const project = await updateProject(this.prisma, request, { caller, logger: this.logger });
    this.messaging.publish(keyChanged, { projectId: project.projectId });
    return project;
  }

  @Serves(projectList)
  async listProjects(request: ListRequest) {
    return listProjects(this.prisma, request);
  }
}
