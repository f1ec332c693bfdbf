import { ServiceError } from '#contracts/service-error.js';
import { isDatabaseAway } from '#database/database-outage.js';
import { MessagingError } from '#messaging/messaging.js';
import { isPanelErrorCode, PanelError } from '../errors/panel-error.js';

/** Returns what a caller of the panel is sent for a failure. */
export function toPanelError(thrown: unknown): PanelError {
  if (thrown instanceof PanelError) return thrown;
  if (thrown instanceof ServiceError) return ofService(thrown);
  if (thrown instanceof MessagingError) {
    return new PanelError('unavailable', 'A service of Tollgate does not answer. Try again in a moment.', { cause: thrown });
  }
  if (isDatabaseAway(thrown)) {
    return new PanelError('unavailable', 'The database of the panel does not answer in time. Try again in a moment.', { cause: thrown });
  }
  return new PanelError('internal_error', 'The panel failed. The request id leads to what happened.', { cause: thrown });
}

/** Translates a refusal of another service. Its message is written for callers. */
function ofService(error: ServiceError): PanelError {
  const { code, message, param } = error;
  // What exists already belongs to the account of the caller; details of other refusals are for services.
  const details = code === 'conflict' ? error.details : undefined;
  const retryAfterSeconds = code === 'rate_limit_exceeded' ? 1 : undefined;
  if (isPanelErrorCode(code)) return new PanelError(code, message, { param, retryAfterSeconds, cause: error, details });
  return new PanelError('unavailable', message, { param, cause: error });
}
