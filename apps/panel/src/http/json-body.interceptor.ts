import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { finalize, type Observable } from 'rxjs';
import { ROUTE } from './handles.decorator.js';
import { PanelError } from './panel-error.js';
import type { PanelRequest } from './panel-request.js';
import type { Route } from './routes.js';

export const BODY_BYTES_MAX = 1024 * 1024;
/** Bytes of a body without credentials: an e-mail, a password or the token of a link. */
export const PUBLIC_BODY_BYTES_MAX = 16 * 1024;
/** Bytes of all bodies that are being read or handled, twice as many as all connections can send without credentials. */
export const BODIES_BYTES_MAX = 64 * 1024 * 1024;

/** Reads the JSON body after the guards, so that a refused request costs no memory, and limits the memory of all bodies together. */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  private bytes = 0;

  constructor(private readonly reflector: Pick<Reflector, 'get'>) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<PanelRequest>();
    if (request.method === 'GET') return next.handle();
    const { access } = this.reflector.get<Route>(ROUTE, context.getHandler());
    const max = access === 'public' ? PUBLIC_BODY_BYTES_MAX : BODY_BYTES_MAX;
    const release = this.reserve(request, max);
    try {
      request.body = parse(await read(request, max), request.headers['content-type']);
    } catch (error) {
      release();
      throw error;
    }
    return next.handle().pipe(finalize(release));
  }

  /** Counts a body, of `max` bytes where the client does not say, until the function that it returns is called. */
  private reserve({ headers }: PanelRequest, max: number): () => void {
    const bytes = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : max;
    if (bytes > max) throw tooLarge(max);
    if (this.bytes + bytes > BODIES_BYTES_MAX)
      throw new PanelError('unavailable', 'The panel reads as many requests as it can. Try again in a moment.');
    this.bytes += bytes;
    return () => {
      this.bytes -= bytes;
    };
  }
}

function tooLarge(max: number): PanelError {
  return new PanelError('request_too_large', `The body is larger than ${max} bytes.`);
}

async function read(request: PanelRequest, max: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > max) throw tooLarge(max);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
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
