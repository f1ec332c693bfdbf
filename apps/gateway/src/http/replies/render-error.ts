import type { GatewayError } from '#inference/errors.js';
import { ADAPTERS } from '../../protocols/adapters.js';
import { protocolAt } from '../routes.js';

/** The body of an error on a URL, in the words of the format that lives there; everywhere else in the general ones, which are chat's (spec 7). */
export function renderErrorAt(url: string, error: GatewayError, requestId: string): string {
  return ADAPTERS[protocolAt(url)].renderError(error, requestId);
}
