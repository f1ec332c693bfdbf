import type { UpstreamFailure } from '../../failures/upstream-failure.js';
import { classifyRefusal } from '../refusals/classify-refusal.js';
import { parseRetryAfter } from '../refusals/parse-retry-after.js';
import { errorFieldsOf, findObject, messageOf, textOf } from '../replies/json-object.js';
import type { ErrorReply, UpstreamCall } from '../upstream-adapter.js';

/** Returns the failure of a reply with an error status. */
export function parseError(reply: ErrorReply, call: UpstreamCall): UpstreamFailure {
  const { code, text, message } = describe(findObject(reply.body)) ?? { code: '', text: reply.body };
  return classifyRefusal({ status: reply.status, code, text, message, retryAfterSeconds: parseRetryAfter(reply.headers, text) }, call);
}

/** Returns the error in an event or body that came with status 200; undefined when there is none. */
export function findError(body: Record<string, unknown>, call: UpstreamCall): UpstreamFailure | undefined {
  const error = describe(body);
  if (error === undefined) return undefined;
  const { code, text, message } = error;
  const status = STATUSES.get(error.type) ?? 0;
  return classifyRefusal({ code, text, message, status, retryAfterSeconds: parseRetryAfter({}, text) }, call);
}

/** Statuses by error type. An error inside a stream has no status of its own. */
const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  }),
);

interface Described {
  type: string;
  code: string;
  text: string;
  /** Absent when the text has no known shape. */
  message?: string | undefined;
}

/** Servers send `{type: "error", error: {type, message}}`; proxies in front of them `{error: "text"}`, `{detail}` or `{message}`. */
function describe(body: Record<string, unknown> | undefined): Described | undefined {
  if (body === undefined) return undefined;
  const error = errorFieldsOf(body.error);
  if (error !== undefined) return fromFields(error);
  const { type } = body;
  const isBare = type === 'error' || (type === undefined && (body.message !== undefined || body.detail !== undefined));
  return isBare ? fromFields(body) : undefined;
}

/** Anthropic sends no `code`; compatible servers do. */
function fromFields({ type, code, message, detail }: Record<string, unknown>): Described {
  const words = [code, type].filter((word) => typeof word === 'string');
  const text = message ?? detail ?? '';
  return {
    type: typeof type === 'string' ? type : '',
    code: words.join(' '),
    text: textOf(text),
    message: messageOf(text),
  };
}
