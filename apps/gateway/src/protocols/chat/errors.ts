import type { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../general-error.js';

/** Renders an error, before a stream and within it. */
export function renderError(error: GatewayError): string {
  return renderGeneralError(error);
}
