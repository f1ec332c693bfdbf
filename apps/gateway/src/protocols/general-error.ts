import type { GatewayError } from '#inference/errors.js';

/** The error body of every endpoint but messages (spec 7): exactly these four fields, `param` null where none is at fault (E-1). */
export function renderGeneralError({ message, type, param, code }: GatewayError): string {
  return JSON.stringify({ error: { message, type, param: param ?? null, code } });
}
