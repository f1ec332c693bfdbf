import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { PanelError } from '../errors/panel-error.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { ROUTE } from './handles.decorator.js';
import { findScope, type Route } from './routes.js';

/** Milliseconds after a sign-in or confirmation in which routes that ask for it can be used. */
const CONFIRMED_MS = 10 * 60_000;

/** Refuses callers without the permission of the route. */
@Injectable()
export class PermissionGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const route = this.reflector.get<Route>(ROUTE, context.getHandler());
    if (route.access === 'public') return true;
    const request = context.switchToHttp().getRequest<PanelRequest>();
    const { access, session } = requireCaller(request);
    if (route.access === 'own') {
      if (!session) throw new PanelError('permission_denied', 'A token cannot do this; it needs a signed-in person.');
    } else if (findScope(route) === 'any') access.requireAnywhere(route.access);
    else access.require(route.access, findScope(route) === 'account' ? requestedAccount(request) : null);
    if (route.confirmed && session && Date.now() - session.confirmedAt.getTime() > CONFIRMED_MS)
      throw new PanelError('confirmation_required', 'Confirm that it is you: the last time was over 10 minutes ago.');
    return true;
  }
}

/** Returns the account of the path; null for `all`, the whole platform. */
function requestedAccount({ params }: PanelRequest): string | null {
  const accountId = String(params.accountId).toLowerCase();
  return accountId === 'all' ? null : accountId;
}
