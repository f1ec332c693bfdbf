import type { IncomingHttpHeaders } from 'node:http';
import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';

/** One call of one upstream: what is asked, of which model there, and what that upstream can do. */
export interface UpstreamCall {
  request: InferenceRequest;
  /** The model's name at the upstream. */
  model: string;
  outputTokensMax: number;
  /** Whether the upstream is asked for a stream. */
  stream: boolean;
  capabilities: UpstreamCapabilities;
}

export interface RenderedRequest {
  /** Relative to the upstream's base URL, without a leading slash. */
  path: string;
  headers: Record<string, string>;
  /** To be sent as JSON. */
  body: object;
}

export interface ErrorReply {
  status: number;
  headers: IncomingHttpHeaders;
  /** The first 64 KiB of it. */
  body: string;
}

/**
 * How one dialect is spoken. Adapters are pure: no I/O, no clock. Events follow the grammar of `stream-event.ts` without
 * `upstream-start` and without `completion-failure`: whatever goes wrong is thrown as an `UpstreamFailure`, after the
 * events that were good have been appended.
 */
export interface UpstreamAdapter {
  readonly kind: Upstream['kind'];
  /** The dialect has no stop sequences: they are matched here, whatever the catalog says the upstream can. */
  readonly withoutStop?: true;
  /** Whether the dialect can look for this sequence; absent: for any. The others are matched here. */
  takesStop?(sequence: string): boolean;
  renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest;
  /** A whole reply, not streamed: appends its events, the terminal one included. */
  parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void;
  openStream(call: UpstreamCall): StreamParser;
  /** What a reply with a status of 300 or more means. */
  parseError(reply: ErrorReply, call: UpstreamCall): UpstreamFailure;
}

/** Reads one stream. Nothing is appended after the terminal event. */
export interface StreamParser {
  /** Takes one SSE payload and appends what it says. */
  push(payload: string, events: StreamEvent[]): void;
  /** The upstream has closed the stream: appends the end, or throws when it is not a good one. */
  end(events: StreamEvent[]): void;
  /** The terminal event has been appended. */
  readonly done: boolean;
  /** What the upstream has counted by now, where it tells before the end. */
  readonly usageSoFar?: Usage | undefined;
}
