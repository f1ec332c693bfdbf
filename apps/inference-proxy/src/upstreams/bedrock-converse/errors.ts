import type { Refusal } from '../refusals/classify-refusal.js';
import { errorParser } from '../refusals/error-parser.js';
import { findErrorStatus } from '../refusals/error-status.js';
import { findErrorFields, findMessage, isObject, toText } from '../replies/json-object.js';
import type { ErrorReply } from '../upstream-adapter.js';

type Body = Record<string, unknown>;

export const { parseError, findError } = errorParser(describe);

/**
 * Bedrock sends `{message}` or `{Message}` with the type in a header, and in a stream `{…Exception: {message}}`; proxies in front of it
 * `{error: …}`.
 */
function describe(body: Body, headers: ErrorReply['headers']): Refusal | undefined {
  const error = findErrorFields(body.error);
  if (error !== undefined) return fromFields(error);
  for (const [type, fields] of Object.entries(body))
    if (type.endsWith('Exception') && isObject(fields)) return fromFields({ ...fields, type });
  const isBare = [body.message, body.Message, body.detail].some((text) => text !== undefined);
  return isBare ? fromFields({ type: headers['x-amzn-errortype'], ...body }) : undefined;
}

/** A type may have its namespace before it and an address behind it: `ValidationException:http://…`. */
function fromFields({ type, __type, code, originalStatusCode, message, Message, detail }: Body): Refusal {
  const words = [code, type, __type].filter((word) => typeof word === 'string').map((word) => word.replace(/^.*#|:.*$/g, ''));
  const text = message ?? Message ?? detail ?? '';
  const status = findErrorStatus([originalStatusCode, code, ...words]);
  return { status, code: words.join(' '), text: toText(text), message: findMessage(text) };
}
