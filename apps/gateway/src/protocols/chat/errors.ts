import type { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../general-error.js';

/** The one mapping of an error to this format's body, before a stream and within it (spec 7, E-1). */
export function renderError(error: GatewayError): string {
  return renderGeneralError(error);
}
