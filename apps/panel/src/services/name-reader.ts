import { OPERATOR } from '#database/journal-reads.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';

/** Returns whose share of the panel's own reads a request counts in: that of the account for its own people, else the operator's. */
export function nameReader(request: PanelRequest, accountId: string | undefined): string {
  const { access, userId } = requireCaller(request);
  return access.isPlatformWide ? OPERATOR : (accountId?.toLowerCase() ?? userId);
}
