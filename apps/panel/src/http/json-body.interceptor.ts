import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { finalize, type Observable } from 'rxjs';
import { PanelError } from '../errors/panel-error.js';
import type { PanelRequest } from '../requests/panel-request.js';
import type { BodyReader } from './body-reader.js';
import { ROUTE } from './handles.decorator.js';
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
