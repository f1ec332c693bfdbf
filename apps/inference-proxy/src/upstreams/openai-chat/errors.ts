import type { InferenceRequest } from '#inference/request.js';
import type { UpstreamFailure } from '../../upstream-failure.js';
import { classifyRefusal, parseRetryAfter } from '../classify-refusal.js';
import { findStatus, isObject, wordsOf } from '../json-object.js';
import type { ErrorReply, UpstreamCall } from '../upstream-adapter.js';

/** What a reply with an error status means (U-23). */
export function parseError(reply: ErrorReply, call: UpstreamCall): UpstreamFailure {
  const { code, text } = describe(parseObject(reply.body)) ?? { code: '', text: reply.body };
  return classifyRefusal({ status: reply.status, code, text, retryAfterSeconds: parseRetryAfter(reply.headers, text) }, call.request);
}

/** The failure in a chunk or body that came with status 200, if there is one (U-11, U-15). */
export function findError(chunk: Record<string, unknown>, request: InferenceRequest): UpstreamFailure | undefined {
  const error = describe(chunk);
  if (error === undefined) return undefined;
  return classifyRefusal({ ...error, retryAfterSeconds: parseRetryAfter({}, error.text) }, request);
}

interface Described {
  status: number;
  code: string;
  text: string;
}

/**
 * The forms seen: `{error: {message, type, code}}`, `{error: "text"}`, `{object: "error", message, code}`,
 * `{code, msg}`, `{base_resp: {status_code, status_msg}}`, `{detail}` and `{message}` of web frameworks.
 */
function describe(body: Record<string, unknown> | undefined): Described | undefined {
  if (body === undefined) return undefined;
  const { error } = body;
  if (typeof error === 'string') return error === '' ? undefined : { status: 0, code: '', text: error };
  if (isObject(error)) return fromFields(error);
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
    text: wordsOf(text),
  };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Some servers wrap the object in a list.
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return isObject(first) ? first : undefined;
  } catch {
    return undefined;
  }
}
