import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { parseReplyObject } from '../replies/json-object.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { MessagesStreamParser } from './stream.js';

/** Parses a plain message as the stream that would have built it. */
export function parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void {
  const message = parseReplyObject(body);
  const failure = findError(message, call);
  if (failure !== undefined) throw failure;
  if (!Array.isArray(message.content)) throw new UpstreamFailure('broken', 'upstream_error', { detail: 'message without content' });
  new MessagesStreamParser(call).readMessage(message, message.content, events);
}
