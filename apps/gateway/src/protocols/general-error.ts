import type { GatewayError } from '#inference/errors.js';

/** Renders the error body of all endpoints except messages. `defaultParam` is the `param` of an error that names no field. */
export function renderGeneralError({ message, type, param, code }: GatewayError, defaultParam: string | null = null): string {
  return JSON.stringify({ error: { message, type, param: param ?? defaultParam, code } });
}
