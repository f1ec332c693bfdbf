import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { IdPipe } from '../http/id.pipe.js';
import { requestAuthor } from '../http/request-author.js';
import { Handles } from '../http/route.decorator.js';
import { toPlace } from '../identity/grants.js';
import { Members } from '../identity/members.js';
import type { Access } from '../permissions/permissions.js';
import { MemberPageQuery, ScopeQuery } from '../requests/page.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { type Member, type MemberListReply, MemberUpdateRequest, type Permission } from '../shapes/identity.js';

/** People and their roles. */
@Controller()
export class MembersController {
  constructor(private readonly members: Members) {}

  @Handles('listMembers')
  list(@Req() request: PanelRequest, @Query() query: MemberPageQuery): Promise<MemberListReply> {
    return this.members.list(permittedAccounts(requireCaller(request).access, 'members.read', query.accountId), query);
  }

  @Handles('updateMember')
  async update(@Req() request: PanelRequest, @Param('userId', IdPipe) userId: string, @Body() body: MemberUpdateRequest): Promise<Member> {
    const { access, session, userId: own } = requireCaller(request);
    const { role, disabled } = body;
    const place = toPlace(body);
    access.require('members', disabled === undefined ? place.accountId : null);
    if (role !== undefined)
      await this.members.setRole(userId, place, role, requestAuthor(request), userId === own ? session?.id : undefined);
    if (disabled !== undefined) await this.members.setDisabled(userId, disabled, requestAuthor(request));
    return this.members.show(userId, access.accountsWith('members.read'));
  }

  @Handles('removeMember')
  async remove(@Req() request: PanelRequest, @Param('userId', IdPipe) userId: string, @Query() query: ScopeQuery): Promise<void> {
    const place = toPlace(query);
    const { access, session, userId: own } = requireCaller(request);
    access.require('members', place.accountId);
    await this.members.setRole(userId, place, null, requestAuthor(request), userId === own ? session?.id : undefined);
  }
}

/** Returns the accounts of a list: the one that the query names, if the caller may read it, or all that they may read. */
export function permittedAccounts(access: Access, permission: Permission, accountId: string | undefined): 'all' | string[] {
  if (accountId === undefined) return access.accountsWith(permission);
  access.require(permission, accountId);
  return [accountId];
}
