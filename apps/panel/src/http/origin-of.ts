import type { Origin } from '../audit/write-audit.js';
import type { Client } from '../identity/sessions.js';
import type { PanelRequest } from './panel-request.js';

/** Returns the maker of a change for the audit journal; `anonymous` on a public route. */
export function originOf({ caller, address, requestId }: PanelRequest): Origin {
  return { actor: caller?.actor ?? 'anonymous', actorName: caller?.actorName ?? null, via: 'http', ip: address, requestId };
}

export function clientOf(request: PanelRequest): Client {
  return { address: request.address, userAgent: request.get('user-agent') };
}
