import type { Refusal } from '../refusals/classify-refusal.js';
import { errorParser } from '../refusals/error-parser.js';
import { findErrorStatus } from '../refusals/error-status.js';
import { findErrorFields, findMessage, isObject, toText } from '../replies/json-object.js';

export const { parseError, findError } = errorParser(describe);

/** Servers send `{error: {code, message, status, details}}`, also in a list; proxies in front of them `{error: "text"}` or `{message}`. */
function describe(body: Record<string, unknown>): Refusal | undefined {
  const error = findErrorFields(body.error);
  if (error !== undefined) return fromFields(error);
  if (body.candidates !== undefined || body.promptFeedback !== undefined || body.usageMetadata !== undefined) return undefined;
  return body.message !== undefined || body.detail !== undefined ? fromFields(body) : undefined;
}

function fromFields({ code, status, type, message, detail, details }: Record<string, unknown>): Refusal {
  const list = Array.isArray(details) ? details.filter(isObject) : [];
  const reason = list.find((entry) => typeof entry.reason === 'string')?.reason;
  const words = [reason, status, type, code].filter((word) => typeof word === 'string');
  const text = message ?? detail ?? '';
  return {
    status: findErrorStatus([code, status, type]),
    code: words.join(' '),
    text: toText(text),
    message: findMessage(text),
    retryAfterSeconds: findRetryDelay(list),
  };
}

const RETRY_SECONDS_MAX = 60;

/** Returns the `retryDelay` of a `RetryInfo`, such as `34.07s`, in whole seconds from 1 to 60. */
function findRetryDelay(details: readonly Record<string, unknown>[]): number | undefined {
  const delay = details.find(({ retryDelay }) => typeof retryDelay === 'string')?.retryDelay;
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(String(delay)) ?? [];
  return seconds === undefined ? undefined : Math.min(RETRY_SECONDS_MAX, Math.max(1, Math.ceil(Number(seconds))));
}
