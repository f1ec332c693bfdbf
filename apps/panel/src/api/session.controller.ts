import { Body, Controller, Param, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { PanelError } from '../errors/panel-error.js';
import { IdPipe } from '../http/id.pipe.js';
import { requestAuthor, requestClient } from '../http/request-author.js';
import { Handles } from '../http/route.decorator.js';
import { SessionCookie } from '../http/session-cookie.js';
import { People } from '../identity/people.js';
import { Sessions } from '../identity/sessions.js';
import { SignIn } from '../identity/sign-in.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { ConfirmRequest, type Me, type Session, type SessionListReply, SignInRequest } from '../shapes/identity.js';

/** Signing in and out, and the list of a person's sessions. */
@Controller()
export class SessionController {
  constructor(
    private readonly cookie: SessionCookie,
    private readonly sessions: Sessions,
    private readonly signIn: SignIn,
    private readonly people: People,
  ) {}

  @Handles('signIn')
  async create(@Req() request: PanelRequest, @Res({ passthrough: true }) response: Response, @Body() body: SignInRequest): Promise<Me> {
    const { secret, userId } = await this.signIn.signIn(body, requestClient(request), requestAuthor(request));
    response.setHeader('set-cookie', this.cookie.set(secret));
    return this.people.show(userId);
  }

  @Handles('showSession')
  async show(@Req() request: PanelRequest): Promise<Session> {
    const { userId, session } = requireCaller(request);
    const found = (await this.sessions.list(userId, session?.id)).find(({ isCurrent }) => isCurrent);
    if (!found) throw new PanelError('authentication_required', 'The session is over.');
    return found;
  }

  @Handles('signOut')
  async end(@Req() request: PanelRequest, @Res({ passthrough: true }) response: Response): Promise<void> {
    const { userId, session } = requireCaller(request);
    if (session) await this.sessions.end(userId, session.id, requestAuthor(request));
    response.setHeader('set-cookie', this.cookie.cleared());
  }

  @Handles('confirmSession')
  async confirm(
    @Req() request: PanelRequest,
    @Res({ passthrough: true }) response: Response,
    @Body() body: ConfirmRequest,
  ): Promise<Session> {
    const secret = await this.signIn.confirm(requireCaller(request), body.password, requestAuthor(request));
    response.setHeader('set-cookie', this.cookie.set(secret));
    return this.show(request);
  }

  @Handles('listSessions')
  async list(@Req() request: PanelRequest): Promise<SessionListReply> {
    const { userId, session } = requireCaller(request);
    return { sessions: await this.sessions.list(userId, session?.id) };
  }

  @Handles('endSessions')
  async endOthers(@Req() request: PanelRequest): Promise<void> {
    const { userId, session } = requireCaller(request);
    await this.sessions.endAll(userId, requestAuthor(request), session?.id);
  }

  @Handles('endSession')
  async endOne(@Req() request: PanelRequest, @Param('sessionId', IdPipe) sessionId: string): Promise<void> {
    await this.sessions.end(requireCaller(request).userId, sessionId, requestAuthor(request));
  }
}
