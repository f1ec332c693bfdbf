import { Controller, Param, Req } from '@nestjs/common';
import { ListRequest } from '#contracts/billing/accounts.js';
import { ProjectCreateRequest, ProjectUpdateRequest, projectCreate, projectList, projectUpdate } from '#contracts/billing/projects.js';
import { Activity } from '../activity/activity.js';
import { IdPipe } from '../http/id.pipe.js';
import { Handles, Input } from '../http/route.decorator.js';
import { Members } from '../identity/members.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { nameReader, Services } from '../services/services.js';
import type { Project, ProjectListReply } from '../shapes/billing.js';
import type { Grant } from '../shapes/identity.js';
import type { ProjectDetails } from '../shapes/overview.js';
import { readProject } from './overview/read-project.js';
import { ownedProject, readProjects } from './owned.js';
import { listRequests } from './requests/list-requests.js';
import { readRecords } from './requests/read-records.js';
import type { RequestQuery } from './requests/request-query.js';

/** Most people of the reply, as many as a page of the list of members. */
const MEMBERS_MAX = 200;

@Controller()
export class ProjectsController {
  constructor(
    private readonly services: Services,
    private readonly activity: Activity,
    private readonly members: Members,
  ) {}

  @Handles('listProjects')
  async list(@Req() request: PanelRequest, @Input(ListRequest) query: ListRequest): Promise<ProjectListReply> {
    const { access } = requireCaller(request);
    const { accountId = null } = query;
    const own = access.projectsWith('usage.read').filter((project) => project.accountId === accountId);
    if (own.length === 0) access.require('usage.read', accountId);
    if (access.may('usage.read', accountId)) return this.services.ask(projectList, query);
    return { projects: await readProjects(this.services, own), nextCursor: null };
  }

  @Handles('showProject')
  async show(@Req() request: PanelRequest, @Param('projectId', IdPipe) projectId: string): Promise<ProjectDetails> {
    const { access } = requireCaller(request);
    const project = await ownedProject(this.services, access, 'usage.read', projectId);
    const { accountId } = project;
    const listLast = async (query: RequestQuery) => {
      const records = readRecords(this.activity, access, nameReader(request, accountId));
      return (await listRequests(this.services.askingFor(request), records, query)).requests;
    };
    const holdsHere = (grant: Grant): boolean => grant.projectId === null || grant.projectId === projectId;
    const listMembers = async () =>
      (await this.members.list([accountId], { limit: MEMBERS_MAX })).members
        .map((member) => ({ ...member, grants: member.grants.filter(holdsHere) }))
        .filter(({ grants }) => grants.length > 0);
    return readProject(this.services.askingFor(request), project, {
      requests: access.may('requests.read', accountId, projectId) ? listLast : async () => null,
      members: access.may('members.read', accountId) ? listMembers : async () => null,
    });
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

/**
 * The operator sets requests per minute and concurrency, because they protect the upstreams that all accounts share, and policies, which are
 * programs of the operator.
 */
function requireLimits(
  request: PanelRequest,
  { requestsPerMinuteMax, concurrencyMax, policy }: Pick<ProjectUpdateRequest, 'requestsPerMinuteMax' | 'concurrencyMax' | 'policy'>,
  accountId: string,
): void {
  if ([requestsPerMinuteMax, concurrencyMax, policy].some((value) => value !== undefined))
    requireCaller(request).access.require('accounts', accountId);
}
