import { Body, Controller, Param, Query, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { IdPipe } from '../http/id.pipe.js';
import { requestAuthor, requestClient } from '../http/request-author.js';
import { Handles } from '../http/route.decorator.js';
import { SessionCookie } from '../http/session-cookie.js';
import { toPlace } from '../identity/grants.js';
import { Invites } from '../identity/invites.js';
import { People } from '../identity/people.js';
import { InviteMails } from '../mail/invite-mails.js';
import { Mailer } from '../mail/mailer.js';
import { renderInvite } from '../mail/render-mail.js';
import { ScopedPageQuery } from '../requests/page.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import {
  InviteAcceptRequest,
  InviteCreateRequest,
  type InviteListReply,
  InviteShowRequest,
  type InviteView,
  type Me,
  type SentInvite,
} from '../shapes/identity.js';
import { permittedAccounts } from './members.controller.js';
import { completePlace } from './owned.js';

/** One-time links that give a person a role. */
@Controller()
export class InvitesController {
  constructor(
    private readonly invites: Invites,
    private readonly people: People,
    private readonly cookie: SessionCookie,
    private readonly services: Services,
    private readonly mailer: Mailer,
    private readonly mails: InviteMails,
  ) {}

  @Handles('listInvites')
  async list(@Req() request: PanelRequest, @Query() query: ScopedPageQuery): Promise<InviteListReply> {
    const page = await this.invites.list(permittedAccounts(requireCaller(request).access, 'members.read', query.accountId), query);
    return { ...page, mail: this.mailer.state };
  }

  @Handles('createInvite')
  async create(@Req() request: PanelRequest, @Body() body: InviteCreateRequest): Promise<SentInvite> {
    const { email, role } = body;
    const named = toPlace(body);
    const caller = requireCaller(request);
    caller.access.require('members', named.accountId);
    const place = await completePlace(this.services, named);
    this.mails.count(caller.userId, place.accountId);
    const made = await this.invites.create({ email, ...place, role, setsPassword: false }, requestAuthor(request), caller);
    return { ...made, isMailed: this.mails.start(made.inviteId, renderInvite(made, caller.actorName)) };
  }

  @Handles('withdrawInvite')
  async withdraw(@Req() request: PanelRequest, @Param('inviteId', IdPipe) inviteId: string): Promise<void> {
    const { access } = requireCaller(request);
    await this.invites.withdraw(inviteId, (accountId) => access.require('members', accountId), requestAuthor(request));
  }

  @Handles('showInvite')
  show(@Body() { token }: InviteShowRequest): Promise<InviteView> {
    return this.invites.show(token);
  }

  @Handles('acceptInvite')
  async accept(
    @Req() request: PanelRequest,
    @Res({ passthrough: true }) response: Response,
    @Body() body: InviteAcceptRequest,
  ): Promise<Me> {
    const { secret, userId } = await this.invites.accept(body, requestClient(request), requestAuthor(request));
    response.setHeader('set-cookie', this.cookie.set(secret));
    return this.people.show(userId);
  }
}
