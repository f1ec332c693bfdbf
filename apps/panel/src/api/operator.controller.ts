import { Controller, Inject } from '@nestjs/common';
import { type AuditCheckReply, type AuditListReply, AuditListRequest, panelAuditCheck, panelAuditList } from '#contracts/audit.js';
import { projectList } from '#contracts/billing/projects.js';
import {
  type PanelFactorsResetReply,
  PanelFactorsResetRequest,
  type PanelInviteReply,
  PanelInviteRequest,
  type PanelSessionsEndReply,
  PanelSessionsEndRequest,
  type PanelUser,
  type PanelUserListReply,
  PanelUserListRequest,
  PanelUserUpdateRequest,
  panelFactorsReset,
  panelInvite,
  panelSessionsEnd,
  panelUserList,
  panelUserUpdate,
} from '#contracts/panel.js';
import { ServiceError } from '#contracts/service-error.js';
import {
  type MemberApplyReply,
  MemberApplyRequest,
  type MemberPlanReply,
  MemberPlanRequest,
  memberApply,
  memberPlan,
} from '#contracts/tenant-members.js';
import { OPERATOR } from '#database/journal-reads.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { PanelError } from '../errors/panel-error.js';
import { toPlace } from '../identity/grants.js';
import { Invites } from '../identity/invites.js';
import { Members } from '../identity/members.js';
import { SecondFactors } from '../identity/second-factors.js';
import { Sessions } from '../identity/sessions.js';
import { type ProjectNames, TenantMembers } from '../identity/tenant-members.js';
import { Services } from '../services/services.js';
import type { Member } from '../shapes/identity.js';
import { AuditJournals } from './audit/audit-journals.js';
import { completePlace } from './owned.js';

export const LOGGER = Symbol('logger');

/** Commands with which an operator makes the first admin, helps people who cannot sign in, and reads and checks the journal. Only the CLI may send them. */
@Controller()
export class OperatorController {
  constructor(
    private readonly invites: Invites,
    private readonly members: Members,
    private readonly tenantMembers: TenantMembers,
    private readonly sessions: Sessions,
    private readonly secondFactors: SecondFactors,
    private readonly journals: AuditJournals,
    private readonly services: Services,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Serves(panelInvite)
  async invite({ role, email, ...of }: PanelInviteRequest, { caller }: CallContext): Promise<PanelInviteReply> {
    return refusing(async () => {
      const place = await completePlace(this.services, toPlace(of));
      const made = await this.invites.create({ email, ...place, role, setsPassword: true }, { caller, logger: this.logger });
      const { inviteId, link, expiresAt } = made;
      return { inviteId, email: made.email, ...place, role, link, expiresAt };
    });
  }

  @Serves(memberPlan)
  async planMembers({ accounts }: MemberPlanRequest): Promise<MemberPlanReply> {
    return refusing(async () => {
      const plans = accounts.map(async ({ accountId, members }) =>
        this.tenantMembers.plan(accountId, members, accountId === undefined ? [] : await this.listProjects(accountId)),
      );
      return { plans: await Promise.all(plans) };
    });
  }

  @Serves(memberApply)
  async applyMembers(request: MemberApplyRequest, { caller }: CallContext): Promise<MemberApplyReply> {
    const author = { caller, logger: this.logger };
    return refusing(async () => this.tenantMembers.apply(request, await this.listProjects(request.accountId), author));
  }

  private async listProjects(accountId: string): Promise<ProjectNames> {
    const found: { projectId: string; name: string }[] = [];
    let cursor: string | undefined;
    do {
      const { projects, nextCursor } = await this.services.ask(projectList, { accountId, cursor });
      found.push(...projects.map(({ projectId, name }) => ({ projectId, name })));
      cursor = nextCursor ?? undefined;
    } while (cursor !== undefined);
    return found;
  }

  @Serves(panelUserList)
  async list({ role, ...page }: PanelUserListRequest): Promise<PanelUserListReply> {
    const { members, nextCursor } = await this.members.list('all', page, role);
    return { users: members.map(renderUser), nextCursor };
  }

  @Serves(panelUserUpdate)
  async update({ email, disabled }: PanelUserUpdateRequest, { caller }: CallContext): Promise<PanelUser> {
    return refusing(async () => {
      const userId = await this.members.findId(email);
      await this.members.setDisabled(userId, disabled, { caller, logger: this.logger });
      return renderUser(await this.members.show(userId, 'all'));
    });
  }

  @Serves(panelSessionsEnd)
  async endSessions({ email, keepTokens = false }: PanelSessionsEndRequest, { caller }: CallContext): Promise<PanelSessionsEndReply> {
    return refusing(async () => {
      const userId = await this.members.findId(email);
      return { userId, ...(await this.sessions.endAccess(userId, keepTokens, { caller, logger: this.logger })) };
    });
  }

  @Serves(panelAuditList)
  listJournal(request: AuditListRequest): Promise<AuditListReply> {
    return this.journals.own.list(request, OPERATOR);
  }

  @Serves(panelFactorsReset)
  async resetFactors({ email }: PanelFactorsResetRequest, { caller }: CallContext): Promise<PanelFactorsResetReply> {
    return refusing(async () => {
      const userId = await this.members.findId(email);
      return { userId, factorsRemoved: await this.secondFactors.reset(userId, { caller, logger: this.logger }) };
    });
  }

  @Serves(panelAuditCheck)
  checkJournal(): Promise<AuditCheckReply> {
    return this.journals.own.check();
  }
}

/** Passes on refusals in the form in which services send them. */
async function refusing<Reply>(work: () => Promise<Reply>): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PanelError)) throw error;
    const { code, message, param } = error;
    if (code !== 'not_found' && code !== 'conflict' && code !== 'invalid_request') throw error;
    throw new ServiceError(code, message, param, { cause: error });
  }
}

function renderUser({ grants, ...member }: Member): PanelUser {
  return { ...member, grants: grants.map(({ accountId, projectId, role }) => ({ accountId, projectId, role })) };
}
