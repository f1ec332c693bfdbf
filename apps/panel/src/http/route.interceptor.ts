import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { finalize, type Observable } from 'rxjs';
import { PanelError } from '../errors/panel-error.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import type { BodyReader } from './body-reader.js';
import type { PersonReads } from './person-reads.js';
import { Places } from './places.js';
import { ROUTE } from './route.decorator.js';
import type { Route } from './routes.js';

/** Reads the JSON body after the guards, so that a refused request costs no memory. */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Pick<Reflector, 'get'>,
    private readonly bodies: BodyReader,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<PanelRequest>();
    if (request.method === 'GET') return next.handle();
    const { text, release } = await this.bodies.read(request, this.reflector.get<Route>(ROUTE, context.getHandler()));
    try {
      request.body = parse(text, request.headers['content-type']);
    } catch (error) {
      release();
      throw error;
    }
    return next.handle().pipe(finalize(release));
  }
}

/** Returns undefined for an empty body. */
function parse(text: string, contentType: string | undefined): unknown {
  if (text === '') return undefined;
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? ''))
    throw new PanelError('invalid_request', 'The body must be JSON: send the header "content-type: application/json".');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PanelError('invalid_json', 'The body is not valid JSON.', { cause });
  }
}

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
