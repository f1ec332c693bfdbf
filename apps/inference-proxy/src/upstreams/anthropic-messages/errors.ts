import type { InferenceRequest } from '#inference/request.js';
import type { UpstreamFailure } from '../../failures/upstream-failure.js';
import { classifyRefusal, parseRetryAfter } from '../refusals/classify-refusal.js';
import { errorFieldsOf, findObject, wordsOf } from '../replies/json-object.js';
import type { ErrorReply, UpstreamCall } from '../upstream-adapter.js';

/** What a reply with an error status means (U-23). */
export function parseError(reply: ErrorReply, call: UpstreamCall): UpstreamFailure {
  const { code, text } = describe(findObject(reply.body)) ?? { code: '', text: reply.body };
  return classifyRefusal({ status: reply.status, code, text, retryAfterSeconds: parseRetryAfter(reply.headers, text) }, call.request);
}

/** The failure in an event or a body that came with status 200, if there is one (U-11). */
export function findError(body: Record<string, unknown>, request: InferenceRequest): UpstreamFailure | undefined {
  const error = describe(body);
  if (error === undefined) return undefined;
  const { code, text } = error;
  const status = STATUSES.get(error.type) ?? 0;
  return classifyRefusal({ code, text, status, retryAfterSeconds: parseRetryAfter({}, text) }, request);
}

/** An error inside a stream has no status but the one its type would have had as a reply. */
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
}

/** `{type: "error", error: {type, message}}`, and what proxies before such a server say: `{error: "text"}`, `{detail}`, `{message}`. */
function describe(body: Record<string, unknown> | undefined): Described | undefined {
  if (body === undefined) return undefined;
  const error = errorFieldsOf(body.error);
  if (error !== undefined) return fromFields(error);
  const { type } = body;
  const isBare = type === 'error' || (type === undefined && (body.message !== undefined || body.detail !== undefined));
  return isBare ? fromFields(body) : undefined;
}

/** The vendor has no `code`; compatible servers do. */
function fromFields({ type, code, message, detail }: Record<string, unknown>): Described {
  const words = [code, type].filter((word) => typeof word === 'string');
  const text = message ?? detail ?? '';
  return {
    type: typeof type === 'string' ? type : '',
    code: words.join(' '),
    text: wordsOf(text),
  };
}
