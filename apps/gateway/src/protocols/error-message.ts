import type { GatewayError } from '#inference/errors.js';

const TOO_LONG = 'prompt is too long';

/**
 * Returns the message for the client, in every format, plain or within a stream. Agents shorten a conversation when it contains `prompt is
 * too long`: Messages has no code for it, and some agents go by the text in the other formats too.
 */
export function errorMessage({ code, message }: GatewayError): string {
  return code === 'context_length_exceeded' && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message;
}
