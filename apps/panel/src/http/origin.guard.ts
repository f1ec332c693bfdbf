import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { PanelError } from '../errors/panel-error.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { ROUTE } from './handles.decorator.js';
import { isOriginAllowed } from './origin.js';
import type { Route } from './routes.js';

/** Refuses requests that a foreign page caused, before anything else of them is looked at. */
@Injectable()
export class OriginGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly allowed: ReadonlySet<string>,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    if (this.reflector.get<Route>(ROUTE, context.getHandler()).fromOtherSites) return true;
    if (isOriginAllowed(context.switchToHttp().getRequest<PanelRequest>(), this.allowed)) return true;
    throw new PanelError(
      'origin_not_allowed',
      'Pages of this origin may not call the panel. PANEL_URL and PANEL_ORIGINS name those that may.',
    );
  }
}
