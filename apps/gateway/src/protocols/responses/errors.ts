import type { ErrorCode, GatewayError } from '#inference/errors.js';
import { errorMessage } from '../error-message.js';
import { renderGeneralError } from '../general-error.js';

/** Renders the body of an error that is sent instead of a Response. */
export function renderError(error: GatewayError): string {
  return renderGeneralError(error, ABOUT_PROMPT.has(error.code) ? 'input' : null);
}

/** Errors about the whole prompt, which is `input` in this format. */
const ABOUT_PROMPT: ReadonlySet<ErrorCode> = new Set(['unsupported_content', 'context_length_exceeded']);

/** Returns the error of a failed Response. Clients parse the pause from `try again in 5s` in the message. */
export function renderStreamError(error: GatewayError): { code: string; message: string } {
  const { code, retryAfterSeconds } = error;
  const message = errorMessage(error);
  const hasPause = retryAfterSeconds === undefined || /try again in/i.test(message);
  return { code, message: hasPause ? message : `${message} Please try again in ${retryAfterSeconds}s.` };
}
