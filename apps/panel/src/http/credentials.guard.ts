import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Sessions } from '../identity/sessions.js';
import type { Tokens } from '../identity/tokens.js';
import { ROUTE } from './handles.decorator.js';
import { PanelError } from './panel-error.js';
import type { Caller, PanelRequest } from './panel-request.js';
import type { Route } from './routes.js';
import type { SessionCookie } from './session-cookie.js';

const BEARER = /^Bearer +(\S+) *$/i;

/** Finds the caller of a request: a person by the session cookie, or a program by its token. */
@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly cookie: SessionCookie,
    private readonly sessions: Sessions,
    private readonly tokens: Tokens,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const route = this.reflector.get<Route>(ROUTE, context.getHandler());
    if (route.access === 'public') return true;
    const request = context.switchToHttp().getRequest<PanelRequest>();
    request.caller = await this.find(request);
    if (request.caller) return true;
    throw new PanelError('authentication_required', 'Sign in, or send a token in the header "Authorization: Bearer <TOKEN>".');
  }

  private async find({ headers }: PanelRequest): Promise<Caller | undefined> {
    const secret = this.cookie.read(headers);
    const { authorization } = headers;
    if (authorization === undefined) return secret === undefined ? undefined : this.sessions.find(secret);
    if (secret !== undefined) throw new PanelError('invalid_request', 'A session cookie and a token were sent. Send one of them.');
    return this.tokens.find(BEARER.exec(authorization)?.[1] ?? '');
  }
}
