import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { parseReplyObject } from '../replies/json-object.js';
import { findMissingCap, readUnderCap } from '../replies/output-cap.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { GeminiStreamParser } from './stream.js';

/** Parses a plain reply as a stream of one chunk. */
export function parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void {
  const reply = parseReplyObject(body);
  const failure = findError(reply, call);
  if (failure !== undefined) throw failure;
  if (!Array.isArray(reply.candidates) && reply.promptFeedback === undefined) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply without candidates' });
  }
  const read = (all: StreamEvent[]): void => {
    const parser = new GeminiStreamParser(call);
    parser.read(reply, all);
    parser.finish(all, true);
  };
  readUnderCap(read, findMissingCap(call), events);
}
