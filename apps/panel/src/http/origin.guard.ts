import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { isOriginAllowed } from './origin.js';
import { PanelError } from './panel-error.js';
import type { PanelRequest } from './panel-request.js';

/** Refuses requests that a foreign page caused, before anything else of them is looked at. */
@Injectable()
export class OriginGuard implements CanActivate {
  constructor(private readonly allowed: ReadonlySet<string>) {}

  canActivate(context: ExecutionContext): boolean {
    if (isOriginAllowed(context.switchToHttp().getRequest<PanelRequest>(), this.allowed)) return true;
    throw new PanelError(
      'origin_not_allowed',
      'Pages of this origin may not call the panel. PANEL_URL and PANEL_ORIGINS name those that may.',
    );
  }
}
