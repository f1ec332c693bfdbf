import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { PanelError } from '../errors/panel-error.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import type { Credentials } from './credentials.js';
import { isOriginAllowed } from './origin.js';
import { readCall } from './route.decorator.js';
import { findScope } from './routes.js';

/** Refuses requests without valid credentials, except on public routes. */
@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(private readonly credentials: Credentials) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { request, route } = readCall(context);
    if (route.access === 'public') return true;
    request.caller = await this.credentials.find(request);
    if (request.caller) return true;
    throw new PanelError('authentication_required', 'Sign in, or send a token in the header "Authorization: Bearer <TOKEN>".');
  }
}

/** Refuses requests that a foreign page caused, before anything else of them is looked at. */
@Injectable()
export class OriginGuard implements CanActivate {
  constructor(private readonly allowed: ReadonlySet<string>) {}

  canActivate(context: ExecutionContext): boolean {
    const { request, route } = readCall(context);
    if (route.fromOtherSites || isOriginAllowed(request, this.allowed)) return true;
    throw new PanelError(
      'origin_not_allowed',
      'Pages of this origin may not call the panel. PANEL_URL and PANEL_ORIGINS name those that may.',
    );
  }
}

/** Milliseconds after a sign-in or confirmation in which routes that ask for it can be used. */
const CONFIRMED_MS = 10 * 60_000;

/** Refuses callers without the permission of the route. */
@Injectable()
export class PermissionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { request, route } = readCall(context);
    if (route.access === 'public') return true;
    const { access, session } = requireCaller(request);
    const scope = findScope(route);
    if (route.access === 'own') {
      if (!session) throw new PanelError('permission_denied', 'A token cannot do this; it needs a signed-in person.');
    } else if (scope === 'any') access.requireAnywhere(route.access);
    else if (scope === 'platform') access.require(route.access, null);
    else access.require(route.access, requestedAccount(request), scope === 'project' ? requestedProject(request) : null);
    if (route.confirmed && session && Date.now() - session.confirmedAt.getTime() > CONFIRMED_MS)
      throw new PanelError('confirmation_required', 'Confirm that it is you: the last time was over 10 minutes ago.');
    return true;
  }
}

/** Returns the project of the query. Null for none, and for what is no single id: the whole account must be readable then. */
function requestedProject({ query: { projectId } }: PanelRequest): string | null {
  return typeof projectId === 'string' ? projectId.toLowerCase() : null;
}

/** Returns the account of the path; null for `all`, the whole platform. */
function requestedAccount({ params }: PanelRequest): string | null {
  const accountId = String(params.accountId).toLowerCase();
  return accountId === 'all' ? null : accountId;
}
