import type { GatewayError } from '#inference/errors.js';

/**
 * The error body of every endpoint but messages (spec 7): exactly these four fields. `fieldAtFault` is the `param` of an error that names none
 * (E-1).
 */
export function renderGeneralError({ message, type, param, code }: GatewayError, fieldAtFault: string | null = null): string {
  return JSON.stringify({ error: { message, type, param: param ?? fieldAtFault, code } });
}
