import type { UpstreamFailure } from '../../failures/upstream-failure.js';
import { findObject } from '../replies/json-object.js';
import type { ErrorReply, UpstreamCall } from '../upstream-adapter.js';
import { classifyRefusal, type Refusal } from './classify-refusal.js';
import { parseRetryAfter } from './parse-retry-after.js';

type Body = Record<string, unknown>;

interface ErrorParser {
  /** Returns the failure of a reply with an error status. */
  parseError: (reply: ErrorReply, call: UpstreamCall) => UpstreamFailure;
  /** Returns the error in an event or body that came with status 200; undefined when there is none. */
  findError: (body: Body, call: UpstreamCall) => UpstreamFailure | undefined;
}

/** Returns the error in a body; undefined when there is none. An error within a reply has no headers. */
type Describe = (body: Body, headers: ErrorReply['headers']) => Refusal | undefined;

/** Returns the error parser of a dialect. */
export function errorParser(describe: Describe, classify = classifyRefusal): ErrorParser {
  return {
    parseError: ({ status, headers, body }, call) => {
      const object = findObject(body);
      const { code, text, message, retryAfterSeconds } = (object && describe(object, headers)) ?? { code: '', text: body };
      return classify({ status, code, text, message, retryAfterSeconds: retryAfterSeconds ?? parseRetryAfter(headers, text) }, call);
    },
    findError: (body, call) => {
      const error = describe(body, {});
      return error && classify({ ...error, retryAfterSeconds: error.retryAfterSeconds ?? parseRetryAfter({}, error.text) }, call);
    },
  };
}
