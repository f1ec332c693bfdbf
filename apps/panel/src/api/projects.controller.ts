import { Controller, Req } from '@nestjs/common';
import { ListRequest } from '#contracts/billing/accounts.js';
import { ProjectCreateRequest, ProjectUpdateRequest, projectCreate, projectList, projectUpdate } from '#contracts/billing/projects.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type { Project, ProjectListReply } from '../shapes/billing.js';
import { ownedProject } from './owned.js';

@Controller()
export class ProjectsController {
  constructor(private readonly services: Services) {}

  @Handles('listProjects')
  list(@Input(ListRequest) query: ListRequest): Promise<ProjectListReply> {
    return this.services.ask(projectList, query);
  }

  @Handles('createProject')
  create(@Req() request: PanelRequest, @Input(ProjectCreateRequest) message: ProjectCreateRequest): Promise<Project> {
    requireLimits(request, message, message.accountId);
    return this.services.change(request, projectCreate, message);
  }

  @Handles('updateProject')
  async update(@Req() request: PanelRequest, @Input(ProjectUpdateRequest) message: ProjectUpdateRequest): Promise<Project> {
    const { accountId } = await ownedProject(this.services, requireCaller(request).access, 'projects', message.projectId);
    requireLimits(request, message, accountId);
    return this.services.change(request, projectUpdate, message);
  }
}

/** The operator sets requests per minute and concurrency, because they protect the upstreams that all accounts share. */
function requireLimits(
  request: PanelRequest,
  { requestsPerMinuteMax, concurrencyMax }: Pick<ProjectUpdateRequest, 'requestsPerMinuteMax' | 'concurrencyMax'>,
  accountId: string,
): void {
  if (requestsPerMinuteMax !== undefined || concurrencyMax !== undefined) requireCaller(request).access.require('accounts', accountId);
}
