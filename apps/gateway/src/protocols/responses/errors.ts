import type { ErrorCode, GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../general-error.js';

/** The one mapping of an error to this format's body before a stream (spec 7, E-1). */
export function renderError(error: GatewayError): string {
  return renderGeneralError(error, ABOUT_PROMPT.has(error.code) ? 'input' : null);
}

/** What is wrong with the prompt as a whole: it names no field, and in this format the prompt is `input` (spec 7). */
const ABOUT_PROMPT: ReadonlySet<ErrorCode> = new Set(['unsupported_content', 'context_length_exceeded']);

/** The error within a failed Response (spec 7.3, R-11). Clients read the pause from `try again in 5s` in the message (E-5). */
export function renderStreamError({ code, message, retryAfterSeconds }: GatewayError): { code: string; message: string } {
  const saysWhen = retryAfterSeconds === undefined || /try again in/i.test(message);
  return { code, message: saysWhen ? message : `${message} Please try again in ${retryAfterSeconds}s.` };
}
