import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { finalize, type Observable } from 'rxjs';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { ROUTE } from './handles.decorator.js';
import type { PersonReads } from './person-reads.js';
import type { Route } from './routes.js';

/** Lets a person run few routes that read journals at once. Files have a limit of their own (`DownloadsInterceptor`), since a client may take minutes for one. */
@Injectable()
export class JournalReadsInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly reads: PersonReads,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const route = this.reflector.get<Route>(ROUTE, context.getHandler());
    if (!route.readsJournal) return next.handle();
    const leave = await this.reads.enter(requireCaller(context.switchToHttp().getRequest<PanelRequest>()).userId);
    return next.handle().pipe(finalize(leave));
  }
}
