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
import type { Messaging } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { createAccount, listAccounts, updateAccount } from '../accounts/accounts.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { createProject, listProjects, updateProject } from '../accounts/projects.js';
import { BillingConfig } from '../billing.config.js';
import { BillingEvents } from '../events/billing-events.js';
import { MESSAGING, PRISMA } from './injected.js';

@Controller()
export class AccountsController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(MESSAGING) private readonly messaging: Pick<Messaging, 'publish'>,
    private readonly config: BillingConfig,
    private readonly events: BillingEvents,
  ) {}

  @Serves(accountCreate)
  async createAccount(request: AccountCreateRequest) {
    return orUnavailable(createAccount(this.prisma, request));
  }

  @Serves(accountUpdate)
  async updateAccount(request: AccountUpdateRequest) {
    const account = await orUnavailable(updateAccount(this.prisma, request));
    if (request.lowBalanceUsd) this.events.thresholdChanged(account.accountId);
    return account;
  }

  @Serves(accountList)
  async listAccounts(request: ListRequest) {
    return orUnavailable(listAccounts(this.prisma, request));
  }

  @Serves(projectCreate)
  async createProject(request: ProjectCreateRequest) {
    const { requestsPerMinuteDefault: requestsPerMinute, concurrencyDefault: concurrency } = this.config;
    return orUnavailable(createProject(this.prisma, request, { requestsPerMinute, concurrency }));
  }

  @Serves(projectUpdate)
  async updateProject(request: ProjectUpdateRequest) {
    const project = await orUnavailable(updateProject(this.prisma, request));
    this.messaging.publish(keyChanged, { projectId: project.projectId });
    return project;
  }

  @Serves(projectList)
  async listProjects(request: ListRequest) {
    return orUnavailable(listProjects(this.prisma, request));
  }
}
