import type { GatewayError } from '#inference/errors.js';
import { ADAPTERS } from '../../protocols/adapters.js';
import { protocolAt } from '../routes.js';

/** Renders an error body in the format of a URL; paths without a format use chat's. */
export function renderErrorAt(url: string, error: GatewayError, requestId: string): string {
  return ADAPTERS[protocolAt(url)].renderError(error, requestId);
}
