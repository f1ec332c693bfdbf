import { ServiceError } from '#contracts/service-error.js';
import { MessagingError } from '#messaging/messaging.js';
import { isPanelErrorCode, PanelError } from './panel-error.js';

/** Returns what a caller of the panel is sent for a failure. */
export function panelErrorOf(thrown: unknown): PanelError {
  if (thrown instanceof PanelError) return thrown;
  if (thrown instanceof ServiceError) return ofService(thrown);
  if (thrown instanceof MessagingError) {
    return new PanelError('unavailable', 'A service of Tollgate does not answer. Try again in a moment.', { cause: thrown });
  }
  return new PanelError('internal_error', 'The panel failed. The request id leads to what happened.', { cause: thrown });
}

/** Translates a refusal of another service. Its message is written for callers. */
function ofService(error: ServiceError): PanelError {
  const { code, message, param } = error;
  // What exists already belongs to the account of the caller; details of other refusals are for services.
  const details = code === 'conflict' ? error.details : undefined;
  if (isPanelErrorCode(code)) return new PanelError(code, message, { param, cause: error, details });
  return new PanelError('unavailable', message, { param, cause: error });
}
