import type { Request } from 'express';
import type { Logger } from '#observability/logger.js';
import { PanelError } from '../errors/panel-error.js';
import type { Access } from '../permissions/permissions.js';

/** The person or program that sent a request. */
export interface Caller {
  /** Written to the audit journal: `user/<id>` or `token/<id>`. */
  actor: string;
  /** The person's e-mail, or the token's name. */
  actorName: string;
  /** The person, also the one who made the token. */
  userId: string;
  access: Access;
  /** Absent for a token. */
  session: CallerSession | undefined;
}

interface CallerSession {
  id: string;
  /** Moment of the last sign-in or confirmation. */
  confirmedAt: Date;
}

/** A request below `/panel/v1`. */
export interface PanelRequest extends Request {
  requestId: string;
  /** Id of the client's trace, or of the request's own. */
  traceId: string;
  /** IP address of the client, taken from trusted proxies if any, or `UNKNOWN_ADDRESS`. */
  address: string;
  /** Gets a copy of every row that the request adds to the journal. */
  logger: Logger;
  /** Set by the credentials guard, except on public routes. */
  caller: Caller | undefined;
}

/** Returns the caller of a route that is not public. */
export function requireCaller({ caller }: PanelRequest): Caller {
  if (!caller) throw new PanelError('internal_error', 'The route is not guarded.');
  return caller;
}
