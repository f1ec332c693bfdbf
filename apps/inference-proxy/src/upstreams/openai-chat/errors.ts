import type { UpstreamFailure } from '../../failures/upstream-failure.js';
import { classifyRefusal } from '../refusals/classify-refusal.js';
import { parseRetryAfter } from '../refusals/parse-retry-after.js';
import { errorFieldsOf, findObject, findStatus, isObject, messageOf, textOf } from '../replies/json-object.js';
import type { ErrorReply, UpstreamCall } from '../upstream-adapter.js';

/** Returns the failure of a reply with an error status. */
export function parseError(reply: ErrorReply, call: UpstreamCall): UpstreamFailure {
  const { code, text, message } = describe(findObject(reply.body)) ?? { code: '', text: reply.body };
  return classifyRefusal({ status: reply.status, code, text, message, retryAfterSeconds: parseRetryAfter(reply.headers, text) }, call);
}

/** Returns the error in a chunk or body that came with status 200; undefined when there is none. */
export function findError(chunk: Record<string, unknown>, call: UpstreamCall): UpstreamFailure | undefined {
  const error = describe(chunk);
  if (error === undefined) return undefined;
  return classifyRefusal({ ...error, retryAfterSeconds: parseRetryAfter({}, error.text) }, call);
}

interface Described {
  status: number;
  code: string;
  text: string;
  /** Absent when the text has no known shape. */
  message?: string | undefined;
}

/**
 * Servers send `{error: {message, type, code}}`, `{error: "text"}` or a list of either, `{object: "error", message, code}`,
 * `{code, msg}`, `{base_resp: {status_code, status_msg}}`, and `{detail}` or `{message}` (web frameworks).
 */
function describe(body: Record<string, unknown> | undefined): Described | undefined {
  if (body === undefined) return undefined;
  const error = errorFieldsOf(body.error);
  if (error !== undefined) return fromFields(error);
  if (body.object === 'error') return fromFields(body);
  if (body.choices !== undefined && body.choices !== null) return undefined;
  if (isObject(body.base_resp) && body.base_resp.status_code !== 0) return fromFields(body.base_resp);
  const isBare = body.usage === undefined && ['msg', 'message', 'detail'].some((field) => body[field] !== undefined);
  return isBare ? fromFields(body) : undefined;
}

function fromFields(error: Record<string, unknown>): Described {
  const { code, type, status_code: statusCode } = error;
  const words = [code, type, error.status].filter((word) => typeof word === 'string');
  const text = error.message ?? error.msg ?? error.status_msg ?? error.detail ?? '';
  return {
    status: findStatus([code, statusCode, error.status]),
    code: words.join(' '),
    text: textOf(text),
    message: messageOf(text),
  };
}
