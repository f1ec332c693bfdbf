import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { parseReplyObject } from '../replies/json-object.js';
import { findMissingCap, readUnderCap } from '../replies/output-cap.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { ConverseStreamParser, findContent } from './stream.js';

/** Parses a plain reply as the stream that would have built it. */
export function parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void {
  const reply = parseReplyObject(body);
  const failure = findError(reply, call);
  if (failure !== undefined) throw failure;
  const content = findContent(reply);
  if (content === undefined) throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply without a message' });
  readUnderCap((all) => new ConverseStreamParser(call).readReply(reply, content, all), findMissingCap(call), events);
}
