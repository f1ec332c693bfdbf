import type { Refusal } from '../refusals/classify-refusal.js';
import { errorParser } from '../refusals/error-parser.js';
import { findErrorStatus } from '../refusals/error-status.js';
import { findErrorFields, findMessage, toText } from '../replies/json-object.js';

export const { parseError, findError } = errorParser(describe);

/** Servers send `{type: "error", error: {type, message}}`; proxies in front of them `{error: "text"}`, `{detail}` or `{message}`. */
function describe(body: Record<string, unknown>): Refusal | undefined {
  const error = findErrorFields(body.error);
  if (error !== undefined) return fromFields(error);
  const { type } = body;
  const isBare = type === 'error' || (type === undefined && (body.message !== undefined || body.detail !== undefined));
  return isBare ? fromFields(body) : undefined;
}

/** Anthropic sends no `code`; compatible servers do. */
function fromFields({ type, code, message, detail }: Record<string, unknown>): Refusal {
  const words = [code, type].filter((word) => typeof word === 'string');
  const text = message ?? detail ?? '';
  return { status: findErrorStatus([code, type]), code: words.join(' '), text: toText(text), message: findMessage(text) };
}
