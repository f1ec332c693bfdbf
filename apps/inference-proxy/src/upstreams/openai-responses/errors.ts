import type { UpstreamFailure } from '../../failures/upstream-failure.js';
import { classifyRefusal, refusalOf } from '../refusals/classify-refusal.js';
import { parseRetryAfter } from '../refusals/parse-retry-after.js';
import { errorFieldsOf, findObject, findStatus, messageOf, textOf } from '../replies/json-object.js';
import type { ErrorReply, UpstreamCall } from '../upstream-adapter.js';

/** Returns the failure of a reply with an error status. */
export function parseError(reply: ErrorReply, call: UpstreamCall): UpstreamFailure {
  const { code, text, message } = describe(findObject(reply.body)) ?? { code: '', text: reply.body };
  return classify({ status: reply.status, code, text, message, retryAfterSeconds: parseRetryAfter(reply.headers, text) }, call);
}

/** Returns the error in an event, response or body that came with status 200; undefined when there is none. */
export function findError(body: Record<string, unknown>, call: UpstreamCall): UpstreamFailure | undefined {
  const error = describe(body);
  return error === undefined ? undefined : classify({ ...error, retryAfterSeconds: parseRetryAfter({}, error.text) }, call);
}

/** Codes of a failed response that are about the content the client sent. */
const CONTENT_CODES = /^invalid_prompt|_policy|(^|_)image(_|$|\s)/;

function classify(refusal: Parameters<typeof classifyRefusal>[0], call: UpstreamCall): UpstreamFailure {
  const { status, code } = refusal;
  if ((status === 0 || status === 400) && CONTENT_CODES.test(code)) {
    return refusalOf('content-policy', refusal, call);
  }
  return classifyRefusal(refusal, call);
}

interface Described {
  status: number;
  code: string;
  text: string;
  /** Absent when the text has no known shape. */
  message?: string | undefined;
}

/**
 * Servers send `{error: {message, type, code}}` in bodies, responses and events, `{error: "text"}` or a list of either, the event
 * `{type: "error", code, message}`, `{object: "error", message}`, and `{detail}` or `{message}` (web frameworks).
 */
function describe(body: Record<string, unknown> | undefined): Described | undefined {
  if (body === undefined) return undefined;
  const error = errorFieldsOf(body.error);
  if (error !== undefined) return fromFields(error);
  const { type } = body;
  if (type === 'error' || body.object === 'error') return fromFields(body);
  const isBare = type === undefined && body.object === undefined && ['message', 'detail'].some((field) => body[field] !== undefined);
  return isBare ? fromFields(body) : undefined;
}

function fromFields(error: Record<string, unknown>): Described {
  const { code, type, status } = error;
  const words = [code, type].filter((word) => typeof word === 'string' && word !== 'error');
  const text = error.message ?? error.detail ?? '';
  return { status: findStatus([code, status]), code: words.join(' '), text: textOf(text), message: messageOf(text) };
}
