import type { Refusal } from '../refusals/classify-refusal.js';
import { errorParser } from '../refusals/error-parser.js';
import { errorFieldsOf, messageOf, textOf } from '../replies/json-object.js';

export const { parseError, findError } = errorParser(describe);

/** Statuses by error type. An error inside a stream has no status of its own. */
const STATUSES: ReadonlyMap<unknown, number> = new Map(
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

/** Servers send `{type: "error", error: {type, message}}`; proxies in front of them `{error: "text"}`, `{detail}` or `{message}`. */
function describe(body: Record<string, unknown>): Refusal | undefined {
  const error = errorFieldsOf(body.error);
  if (error !== undefined) return fromFields(error);
  const { type } = body;
  const isBare = type === 'error' || (type === undefined && (body.message !== undefined || body.detail !== undefined));
  return isBare ? fromFields(body) : undefined;
}

/** Anthropic sends no `code`; compatible servers do. */
function fromFields({ type, code, message, detail }: Record<string, unknown>): Refusal {
  const words = [code, type].filter((word) => typeof word === 'string');
  const text = message ?? detail ?? '';
  return { status: STATUSES.get(type) ?? 0, code: words.join(' '), text: textOf(text), message: messageOf(text) };
}
