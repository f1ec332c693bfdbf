import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { Response } from 'express';
import type { Logger } from '#observability/logger.js';
import type { SummedRefusals } from '../audit/summed-refusals.js';
import { ClientLeftError, PanelError } from '../errors/panel-error.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { requestAuthor } from './request-author.js';
import type { SessionCookie } from './session-cookie.js';
import { toPanelError } from './to-panel-error.js';

/** Characters of a path that a journal row keeps. */
const TARGET_MAX = 200;

/** Answers every error with `{error: {message, type, param, code}}`. A 401 also clears the session cookie, so that no page loops. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly cookie: SessionCookie,
    private readonly refusals: SummedRefusals,
    private readonly logger: Logger,
  ) {}

  async catch(thrown: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<PanelRequest>();
    const response = host.switchToHttp().getResponse<Response>();
    const { requestId, traceId } = request;
    if (thrown instanceof ClientLeftError) {
      this.logger.debug({ requestId, traceId }, thrown.message);
      response.destroy();
      return;
    }
    const error = translate(thrown, request);
    if (error.status >= 500) this.logger.error({ requestId, traceId, err: error.cause ?? error }, error.message);
    if (error.code === 'permission_denied' && request.caller) await this.record(request, error);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (error.code === 'authentication_required' && this.cookie.read(request.headers) !== undefined)
      response.setHeader('set-cookie', this.cookie.cleared());
    if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', String(error.retryAfterSeconds));
    // The rest of the body was not read, and must not be taken for the next request.
    if (hasUnreadBody(request)) response.setHeader('connection', 'close');
    response.status(error.status).json(error.body);
  }

  /** Writes a refusal to the journal before the reply, so that a caller who has the reply finds its row, unless it is summed. Never throws. */
  private async record(request: PanelRequest, { message: reason }: PanelError): Promise<void> {
    const refusal = { action: 'permission.refuse', target: `${request.method} ${request.path.slice(0, TARGET_MAX)}`, reason };
    const author = requestAuthor(request);
    const summedAs = `${request.method} ${request.route?.path ?? request.path.slice(0, TARGET_MAX)}`;
    try {
      await this.refusals.record(author, refusal, { by: author.caller.actor, summedAs });
    } catch (err) {
      const { requestId, traceId } = request;
      this.logger.error({ requestId, traceId, err }, 'refusal not recorded');
    }
  }
}

function hasUnreadBody({ complete, headers }: PanelRequest): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

function translate(thrown: unknown, request: PanelRequest): PanelError {
  if (thrown instanceof HttpException && thrown.getStatus() === 404) {
    return new PanelError('not_found', `There is nothing at ${request.method} ${request.path.slice(0, 200)}.`);
  }
  if (thrown instanceof HttpException && thrown.getStatus() < 500) {
    return new PanelError('invalid_request', 'The URL is not valid.', { status: thrown.getStatus() });
  }
  return toPanelError(thrown);
}
