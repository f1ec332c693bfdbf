import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Response } from 'express';
import { finalize, type Observable } from 'rxjs';
import { PanelError } from '../errors/panel-error.js';
import { requireCaller } from '../requests/panel-request.js';
import type { BodyReader } from './body-reader.js';
import type { PersonReads } from './person-reads.js';
import { Places } from './places.js';
import { readCall } from './route.decorator.js';

/** Reads the JSON body after the guards, so that a refused request costs no memory. */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  constructor(private readonly bodies: BodyReader) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const { request, route } = readCall(context);
    if (request.method === 'GET') return next.handle();
    const { text, release } = await this.bodies.read(request, route);
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

const FILE = /\.(csv|pdf)$/;

/** Limits the files that each person downloads at once. */
@Injectable()
export class DownloadsInterceptor implements NestInterceptor {
  private readonly running = new Places(DOWNLOADS_MAX);

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { request, route } = readCall(context);
    if (!FILE.test(route.path)) return next.handle();
    const leave = this.running.enter(requireCaller(request).userId);
    if (leave === undefined)
      throw new PanelError('rate_limit_exceeded', `${DOWNLOADS_MAX} of your downloads run. Wait for the end of one.`, {
        retryAfterSeconds: 1,
      });
    const response = context.switchToHttp().getResponse<Response>();
    if (response.destroyed) leave();
    else response.once('close', leave);
    return next.handle();
  }
}

/** Lets a person run few routes that read journals at once. Files have a limit of their own (`DownloadsInterceptor`), since a client may take minutes for one. */
@Injectable()
export class JournalReadsInterceptor implements NestInterceptor {
  constructor(private readonly reads: PersonReads) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const { request, route } = readCall(context);
    if (!route.readsJournal) return next.handle();
    const leave = await this.reads.enter(requireCaller(request).userId);
    return next.handle().pipe(finalize(leave));
  }
}
