import type { Refusal } from '../refusals/classify-refusal.js';
import { errorParser } from '../refusals/error-parser.js';
import { findErrorStatus } from '../refusals/error-status.js';
import { findErrorFields, findMessage, isObject, toText } from '../replies/json-object.js';

export const { parseError, findError } = errorParser(describe);

/**
 * Servers send `{error: {message, type, code}}`, `{error: "text"}` or a list of either, `{object: "error", message, code}`,
 * `{code, msg}`, `{base_resp: {status_code, status_msg}}`, and `{detail}` or `{message}` (web frameworks).
 */
function describe(body: Record<string, unknown>): Refusal | undefined {
  const error = findErrorFields(body.error);
  if (error !== undefined) return fromFields(error);
  if (body.object === 'error') return fromFields(body);
  if (body.choices !== undefined && body.choices !== null) return undefined;
  if (isObject(body.base_resp) && body.base_resp.status_code !== 0) return fromFields(body.base_resp);
  const isBare = body.usage === undefined && ['msg', 'message', 'detail'].some((field) => body[field] !== undefined);
  return isBare ? fromFields(body) : undefined;
}

function fromFields(error: Record<string, unknown>): Refusal {
  const { code, type, status_code: statusCode } = error;
  const words = [code, type, error.status].filter((word) => typeof word === 'string');
  const text = error.message ?? error.msg ?? error.status_msg ?? error.detail ?? '';
  return {
    status: findErrorStatus([code, statusCode, error.status, type]),
    code: words.join(' '),
    text: toText(text),
    message: findMessage(text),
  };
}
