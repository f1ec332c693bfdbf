import type { Sessions } from '../identity/sessions.js';
import type { Tokens } from '../identity/tokens.js';
import { PanelError } from './panel-error.js';
import type { Caller, PanelRequest } from './panel-request.js';
import type { SessionCookie } from './session-cookie.js';

const BEARER = /^Bearer +(\S+) *$/i;

/** Finds the caller of a request: a person by the session cookie, or a program by its token. */
export class Credentials {
  constructor(
    private readonly cookie: SessionCookie,
    private readonly sessions: Sessions,
    private readonly tokens: Tokens,
  ) {}

  /** Returns undefined for a caller without valid credentials. With `isUse` false the session does not count as used, and may go idle. */
  async find({ headers }: PanelRequest, isUse = true): Promise<Caller | undefined> {
    const secret = this.cookie.read(headers);
    const { authorization } = headers;
    if (authorization === undefined) return secret === undefined ? undefined : this.sessions.find(secret, isUse);
    if (secret !== undefined) throw new PanelError('invalid_request', 'A session cookie and a token were sent. Send one of them.');
    return this.tokens.find(BEARER.exec(authorization)?.[1] ?? '');
  }
}
