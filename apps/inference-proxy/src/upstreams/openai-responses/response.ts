import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { parseReplyObject } from '../replies/json-object.js';
import { readUnderCap } from '../replies/output-cap.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { findEnforcedCap } from './request.js';
import { ResponsesStreamParser } from './stream.js';

/** Parses a plain reply as the response that a stream ends with. */
export function parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void {
  const reply = parseReplyObject(body);
  if (!Array.isArray(reply.output)) {
    const failure = findError(reply, call);
    throw failure ?? new UpstreamFailure('broken', 'upstream_error', { detail: 'reply without output' });
  }
  const read = (all: StreamEvent[]): void => new ResponsesStreamParser(call).finish(reply, all);
  readUnderCap(read, findEnforcedCap(call), events);
}
