import type { GatewayError } from '#inference/errors.js';

/** The one mapping of an error to this format's body (spec 7, E-1): all four fields, `param` null where none is at fault. */
export function renderError(error: GatewayError): string {
  const { message, type, param = null, code } = error;
  return JSON.stringify({ error: { message, type, param, code } });
}
