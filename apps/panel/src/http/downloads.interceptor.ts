import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import type { Observable } from 'rxjs';
import { PanelError } from '../errors/panel-error.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { ROUTE } from './handles.decorator.js';
import { Places } from './places.js';
import type { Route } from './routes.js';

/** Files that one person downloads at once. Each holds up to 1,000 rows while its client reads. */
const DOWNLOADS_MAX = 4;

/** Limits the files that each person downloads at once. */
@Injectable()
export class DownloadsInterceptor implements NestInterceptor {
  private readonly running = new Places(DOWNLOADS_MAX);

  constructor(private readonly reflector: Pick<Reflector, 'get'>) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!this.reflector.get<Route>(ROUTE, context.getHandler()).path.endsWith('.csv')) return next.handle();
    const http = context.switchToHttp();
    const leave = this.running.enter(requireCaller(http.getRequest<PanelRequest>()).userId);
    if (leave === undefined)
      throw new PanelError('rate_limit_exceeded', `${DOWNLOADS_MAX} of your downloads run. Wait for the end of one.`, {
        retryAfterSeconds: 1,
      });
    const response = http.getResponse<Response>();
    if (response.destroyed) leave();
    else response.once('close', leave);
    return next.handle();
  }
}
