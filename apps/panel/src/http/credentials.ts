import { PanelError } from '../errors/panel-error.js';
import type { Sessions } from '../identity/sessions.js';
import type { Tokens } from '../identity/tokens.js';
import type { Caller, PanelRequest } from '../requests/panel-request.js';
import type { CallerRates } from './caller-rates.js';
import type { SessionCookie } from './session-cookie.js';

const BEARER = /^Bearer +(\S+) *$/i;

/** Finds the caller of a request: a person by the session cookie, or a program by its token. */
export class Credentials {
  constructor(
    private readonly cookie: SessionCookie,
    private readonly sessions: Sessions,
    private readonly tokens: Tokens,
    private readonly rates: CallerRates,
  ) {}

  /**
   * Returns undefined for a caller without valid credentials, and counts the request.
   * @throws {PanelError} `rate_limit_exceeded`; `invalid_request` for two credentials
   */
  async find({ headers }: PanelRequest): Promise<Caller | undefined> {
    const secret = this.cookie.read(headers) ?? headers.authorization;
    if (secret === undefined) return undefined;
    this.rates.countCredential(secret);
    const caller = await this.look(headers, true);
    if (caller) this.rates.countPerson(caller.userId);
    return caller;
  }

  /** Returns the caller of a running request, if the credentials are still valid. The session does not count as used, and may go idle. */
  again({ headers }: PanelRequest): Promise<Caller | undefined> {
    return this.look(headers, false);
  }

  private async look(headers: PanelRequest['headers'], isUse: boolean): Promise<Caller | undefined> {
    const secret = this.cookie.read(headers);
    const { authorization } = headers;
    if (authorization === undefined) return secret === undefined ? undefined : this.sessions.find(secret, isUse);
    if (secret !== undefined) throw new PanelError('invalid_request', 'A session cookie and a token were sent. Send one of them.');
    return this.tokens.find(BEARER.exec(authorization)?.[1] ?? '');
  }
}
