import { Controller, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Logger } from '#observability/logger.js';
import { PanelError } from '../errors/panel-error.js';
import { requestAuthor, requestClient } from '../http/request-author.js';
import { Handles } from '../http/route.decorator.js';
import { SessionCookie } from '../http/session-cookie.js';
import { Sso } from '../identity/sso/sso.js';
import { AttemptCookie } from '../identity/sso/sso-attempt.js';
import { SsoError } from '../identity/sso/sso-error.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { type SignInWays, type SsoFailure, SsoStartRequest } from '../shapes/identity.js';
import { LOGGER } from './operator.controller.js';

/** Makes a path an address that can be parsed. */
const ANY_HOST = 'http://panel';

/** The ways to sign in, and the way to a provider and back. */
@Controller()
export class SsoController {
  constructor(
    private readonly sso: Sso,
    private readonly sessionCookie: SessionCookie,
    private readonly attemptCookie: AttemptCookie,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Handles('showSignInWays')
  show(): SignInWays {
    return this.sso.ways();
  }

  @Handles('startSso')
  async start(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Param('provider') provider: string,
    @Query() { returnTo, confirm }: SsoStartRequest,
  ): Promise<void> {
    const attempt = this.attemptCookie.begin(returnTo);
    try {
      const address = await this.sso.start(provider, attempt, confirm === 'true');
      response.setHeader('set-cookie', this.attemptCookie.set(attempt));
      response.redirect(303, address.href);
    } catch (error) {
      this.comeBack(request, response, attempt.returnTo, error);
    }
  }

  /** The provider sends the browser here. Success and failure both lead to a page. */
  @Handles('finishSso')
  async finish(@Req() request: PanelRequest, @Res() response: Response, @Param('provider') provider: string): Promise<void> {
    const attempt = this.attemptCookie.read(request.headers);
    const cleared = this.attemptCookie.cleared();
    response.setHeader('set-cookie', cleared);
    try {
      const query = new URL(request.originalUrl, ANY_HOST).searchParams;
      const secret = await this.sso.finish(provider, query, attempt, requestClient(request), requestAuthor(request));
      response.setHeader('set-cookie', [cleared, this.sessionCookie.set(secret)]);
      response.redirect(303, attempt?.returnTo ?? '/panel/');
    } catch (error) {
      this.comeBack(request, response, attempt?.returnTo ?? '/panel/', error);
    }
  }

  /** Leads to a page that explains a failed sign-in: a person came here in a browser, for which JSON is no answer. */
  private comeBack({ requestId, traceId, params: { provider } }: PanelRequest, response: Response, returnTo: string, error: unknown): void {
    const failure = toFailure(error);
    if (failure === undefined) throw error;
    const fields = { requestId, traceId, provider, failure };
    if (failure === 'internal') this.logger.error({ ...fields, err: error }, 'sign-in with a provider failed');
    else this.logger.warn({ ...fields, ...(error instanceof SsoError && { reason: error.reason }) }, 'sign-in with a provider failed');
    const page = new URL(returnTo, ANY_HOST);
    page.searchParams.set('sso', failure);
    page.searchParams.set('request', requestId);
    response.redirect(303, page.pathname + page.search);
  }
}

/** Returns undefined for an unknown provider, whose address is that of no page. */
function toFailure(error: unknown): SsoFailure | undefined {
  if (error instanceof SsoError) return error.failure;
  if (!(error instanceof PanelError)) return 'internal';
  if (error.code === 'not_found') return undefined;
  return error.code === 'rate_limit_exceeded' ? 'too-many' : 'internal';
}
