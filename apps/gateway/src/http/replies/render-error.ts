import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '#inference/errors.js';
import { ADAPTERS } from '../../protocols/adapters.js';
import { protocolAt } from '../routes.js';

/** Renders an error body in the format of a request; paths without a format use chat's. */
export function renderErrorAt(url: string, error: GatewayError, requestId: string, headers?: IncomingHttpHeaders): string {
  return ADAPTERS[protocolAt(url, headers)].renderError(error, requestId);
}
