import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { Response } from 'express';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { MessagingError } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { record } from '../audit/journaled.js';
import { authorOf } from './author-of.js';
import { isPanelErrorCode, PanelError } from './panel-error.js';
import type { PanelRequest } from './panel-request.js';
import type { SessionCookie } from './session-cookie.js';

/** Characters of a path that a journal row keeps. */
const TARGET_MAX = 200;

/** Answers every error with `{error: {message, type, param, code}}`. A 401 also clears the session cookie, so that no page loops. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly cookie: SessionCookie,
    private readonly prisma: PrismaClient,
    private readonly logger: Logger,
  ) {}

  async catch(thrown: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<PanelRequest>();
    const response = host.switchToHttp().getResponse<Response>();
    const error = translate(thrown, request);
    if (error.status >= 500) this.logger.error({ requestId: request.requestId, err: error.cause ?? error }, error.message);
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
    const { message, type, param, code } = error;
    response.status(error.status).json({ error: { message, type, param: param ?? null, code } });
  }

  /** Writes a refusal to the journal before the reply, so that a caller who has the reply finds its row. Never throws. */
  private async record(request: PanelRequest, { message: reason }: PanelError): Promise<void> {
    const entry = { action: 'permission.refuse', target: `${request.method} ${request.path.slice(0, TARGET_MAX)}`, reason };
    try {
      await record(this.prisma, authorOf(request), entry);
    } catch (err) {
      this.logger.error({ requestId: request.requestId, err }, 'refusal not recorded');
    }
  }
}

function hasUnreadBody({ complete, headers }: PanelRequest): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

function translate(thrown: unknown, request: PanelRequest): PanelError {
  if (thrown instanceof PanelError) return thrown;
  if (thrown instanceof ServiceError) return ofService(thrown);
  if (thrown instanceof MessagingError) {
    return new PanelError('unavailable', 'A service of Tollgate does not answer. Try again in a moment.', { cause: thrown });
  }
  if (thrown instanceof HttpException && thrown.getStatus() === 404) {
    return new PanelError('not_found', `There is nothing at ${request.method} ${request.path.slice(0, 200)}.`);
  }
  if (thrown instanceof HttpException && thrown.getStatus() < 500) {
    return new PanelError('invalid_request', 'The URL is not valid.', { status: thrown.getStatus() });
  }
  return new PanelError('internal_error', 'The panel failed. The request id leads to what happened.', { cause: thrown });
}

/** Translates a refusal of another service. Its message is written for callers. */
function ofService(error: ServiceError): PanelError {
  const { code, message, param } = error;
  if (isPanelErrorCode(code)) return new PanelError(code, message, { param, cause: error });
  return new PanelError('unavailable', message, { param, cause: error });
}
