import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../upstream-failure.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { findError, isObject } from './errors.js';
import { ChatStreamParser } from './stream.js';

/** Appends the events of a whole reply: it is read as a stream of one chunk. Blank lines may precede the JSON (U-13). */
export function parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void {
  const reply = parseObject(body);
  const failure = findError(reply, call.request);
  if (failure !== undefined) throw failure;
  if (!Array.isArray(reply.choices) || reply.choices.length === 0) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply without choices' });
  }
  const parser = new ChatStreamParser(call);
  parser.read(reply, events);
  parser.finish(events, true);
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.replace(/^\ufeff/, ''));
    if (isObject(value)) return value;
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply that is not JSON', cause });
  }
  throw new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply that is not an object' });
}
