import type { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../general-error.js';

/**
 * Renders an error body; also used for the error event of a stream. `renderGeneralError` must not be the adapter's `renderError` itself:
 * its second parameter is not the request id.
 */
export function renderError(error: GatewayError): string {
  return renderGeneralError(error);
}
