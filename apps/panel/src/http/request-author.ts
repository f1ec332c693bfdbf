import type { Author } from '#database/audit-journal.js';
import type { Client } from '../identity/sessions.js';
import type { PanelRequest } from '../requests/panel-request.js';

/** Returns the author of a change for the audit journal; `anonymous` on a public route. */
export function requestAuthor({ caller, address, requestId, logger }: PanelRequest): Author {
  const { actor = 'anonymous', actorName = null } = caller ?? {};
  return { caller: { actor, actorName, via: 'http', ip: address, requestId }, logger };
}

export function requestClient(request: PanelRequest): Client {
  return { address: request.address, userAgent: request.get('user-agent') };
}
