import { OPERATOR } from '#database/journal-reads.js';
import { callerOf, type PanelRequest } from '../requests/panel-request.js';

/** Returns whose share of the panel's own reads a request counts in: that of the account for its own people, else the operator's. */
export function readerOf(request: PanelRequest, accountId: string | undefined): string {
  const { access, userId } = callerOf(request);
  return access.isOfPlatform ? OPERATOR : (accountId?.toLowerCase() ?? userId);
}
