import type { UpstreamFailure } from '../../failures/upstream-failure.js';
import { classifyRefusal, type Refusal, toUpstreamFailure } from '../refusals/classify-refusal.js';
import { errorParser } from '../refusals/error-parser.js';
import { findErrorStatus } from '../refusals/error-status.js';
import { findErrorFields, findMessage, toText } from '../replies/json-object.js';
import type { UpstreamCall } from '../upstream-adapter.js';

export const { parseError, findError } = errorParser(describe, classify);

/** Codes of a failed response that are about the content the client sent. */
const CONTENT_CODES = /^invalid_prompt|_policy|(^|_)image(_|$|\s)/;

function classify(refusal: Refusal, call: UpstreamCall): UpstreamFailure {
  const { status, code } = refusal;
  const isAboutContent = (status === 0 || status === 400) && CONTENT_CODES.test(code);
  return isAboutContent ? toUpstreamFailure('content-policy', refusal, call) : classifyRefusal(refusal, call);
}

/**
 * Servers send `{error: {message, type, code}}` in bodies, responses and events, `{error: "text"}` or a list of either, the event
 * `{type: "error", code, message}`, `{object: "error", message}`, and `{detail}` or `{message}` (web frameworks).
 */
function describe(body: Record<string, unknown>): Refusal | undefined {
  const error = findErrorFields(body.error);
  if (error !== undefined) return fromFields(error);
  const { type } = body;
  if (type === 'error' || body.object === 'error') return fromFields(body);
  const isBare = type === undefined && body.object === undefined && ['message', 'detail'].some((field) => body[field] !== undefined);
  return isBare ? fromFields(body) : undefined;
}

function fromFields(error: Record<string, unknown>): Refusal {
  const { code, type, status } = error;
  const words = [code, type].filter((word) => typeof word === 'string' && word !== 'error');
  const text = error.message ?? error.detail ?? '';
  return { status: findErrorStatus([code, status, type]), code: words.join(' '), text: toText(text), message: findMessage(text) };
}
