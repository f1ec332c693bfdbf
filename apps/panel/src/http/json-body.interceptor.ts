import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { PanelError } from './panel-error.js';
import type { PanelRequest } from './panel-request.js';

export const BODY_BYTES_MAX = 1024 * 1024;

/** Reads the JSON body after the guards, so that a refused request costs no memory. */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<PanelRequest>();
    if (request.method !== 'GET') request.body = parse(await read(request), request.headers['content-type']);
    return next.handle();
  }
}

async function read(request: PanelRequest): Promise<string> {
  const tooLarge = new PanelError('request_too_large', `The body is larger than ${BODY_BYTES_MAX} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) throw tooLarge;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw tooLarge;
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
