import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../upstream-failure.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { findError, isObject } from './errors.js';
import { ResponsesStreamParser } from './stream.js';

/** Appends the events of a whole reply: it is the response that a stream ends with. Blank lines may precede the JSON (U-13). */
export function parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void {
  const reply = parseObject(body);
  if (!Array.isArray(reply.output)) {
    const failure = findError(reply, call.request);
    throw failure ?? new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply without output' });
  }
  new ResponsesStreamParser(call).finish(reply, events);
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
