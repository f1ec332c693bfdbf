import { Controller } from '@nestjs/common';
import {
  type PanelInviteReply,
  PanelInviteRequest,
  type PanelSessionsEndReply,
  PanelSessionsEndRequest,
  type PanelUser,
  type PanelUserListReply,
  PanelUserListRequest,
  PanelUserUpdateRequest,
  panelInvite,
  panelSessionsEnd,
  panelUserList,
  panelUserUpdate,
} from '#contracts/panel.js';
import { ServiceError } from '#contracts/service-error.js';
import { Serves } from '#messaging/serves.js';
import type { Origin } from '../audit/write-audit.js';
import { PanelError } from '../http/panel-error.js';
import { Invites } from '../identity/invites.js';
import { Members } from '../identity/members.js';
import { Sessions } from '../identity/sessions.js';
import type { Member } from './shapes/identity.js';

/** The operator on the command line, over NATS. Only the user `cli` may publish these subjects. */
const OPERATOR: Origin = { actor: 'nats/cli', actorName: null, via: 'cli', ip: null, requestId: null };

/** Commands with which an operator makes the first admin and helps people who cannot sign in. */
@Controller()
export class OperatorController {
  constructor(
    private readonly invites: Invites,
    private readonly members: Members,
    private readonly sessions: Sessions,
  ) {}

  @Serves(panelInvite)
  async invite({ role, accountId, email }: PanelInviteRequest): Promise<PanelInviteReply> {
    return refusing(async () => {
      const made = await this.invites.create({ email, accountId: accountId ?? null, role, setsPassword: true }, OPERATOR);
      const { inviteId, link, expiresAt } = made;
      return { inviteId, email: made.email, accountId: made.accountId, role, link, expiresAt };
    });
  }

  @Serves(panelUserList)
  async list({ role, ...page }: PanelUserListRequest): Promise<PanelUserListReply> {
    const { members, nextCursor } = await this.members.list('all', page, role);
    return { users: members.map(renderUser), nextCursor };
  }

  @Serves(panelUserUpdate)
  async update({ email, disabled }: PanelUserUpdateRequest): Promise<PanelUser> {
    return refusing(async () => {
      const userId = await this.members.idOf(email);
      await this.members.setDisabled(userId, disabled, OPERATOR);
      return renderUser(await this.members.show(userId, 'all'));
    });
  }

  @Serves(panelSessionsEnd)
  async endSessions({ email }: PanelSessionsEndRequest): Promise<PanelSessionsEndReply> {
    return refusing(async () => {
      const userId = await this.members.idOf(email);
      return { userId, sessionsEnded: await this.sessions.endAll(userId, OPERATOR) };
    });
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
  return { ...member, grants: grants.map(({ accountId, role }) => ({ accountId, role })) };
}
