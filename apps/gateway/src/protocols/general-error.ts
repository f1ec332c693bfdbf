import type { GatewayError } from '#inference/errors.js';
import { errorMessage } from './error-message.js';

/** Renders the error body of all endpoints except messages. `defaultParam` is the `param` of an error that names no field. */
export function renderGeneralError(error: GatewayError, defaultParam: string | null = null): string {
  const { type, param, code } = error;
  return JSON.stringify({ error: { message: errorMessage(error), type, param: param ?? defaultParam, code } });
}
