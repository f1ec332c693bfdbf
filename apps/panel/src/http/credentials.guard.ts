import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { PanelError } from '../errors/panel-error.js';
import type { PanelRequest } from '../requests/panel-request.js';
import type { Credentials } from './credentials.js';
import { ROUTE } from './handles.decorator.js';
import type { Route } from './routes.js';

/** Refuses requests without valid credentials, except on public routes. */
@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly credentials: Credentials,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const route = this.reflector.get<Route>(ROUTE, context.getHandler());
    if (route.access === 'public') return true;
    const request = context.switchToHttp().getRequest<PanelRequest>();
    request.caller = await this.credentials.find(request);
    if (request.caller) return true;
    throw new PanelError('authentication_required', 'Sign in, or send a token in the header "Authorization: Bearer <TOKEN>".');
  }
}
