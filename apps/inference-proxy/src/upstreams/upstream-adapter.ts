import type { IncomingHttpHeaders } from 'node:http';
import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import type { EmbeddingInputs, InferenceRequest } from '#inference/request.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { PromptUsage, Usage } from '#inference/usage.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';

/** One call of one upstream. */
export interface UpstreamCall {
  request: InferenceRequest;
  /** The model's name at the upstream. */
  model: string;
  /** The upstream's address, which no client may learn. */
  baseUrl: string;
  outputTokensMax: number;
  /** Estimated tokens of the prompt. */
  promptTokensEstimate: number;
  /** The account that pays. No upstream may learn it. */
  accountId: string;
  /** True when the upstream is asked for a stream. */
  stream: boolean;
  capabilities: UpstreamCapabilities;
  /** Called with each object of the reply that may have its `id` and `model`. Absent while nothing records them. */
  onReply?: ((reply: Record<string, unknown>) => void) | undefined;
  /** Called when the reply says what no dialect defines, or contradicts itself. */
  onOddity?: ((oddity: Oddity) => void) | undefined;
}

export const ODDITY_KINDS = ['unknown-finish', 'contradictory-usage'] as const;

/** A reply that was understood in a way that its upstream may not have meant. */
export interface Oddity {
  kind: (typeof ODDITY_KINDS)[number];
  /** The word or the counts, of at most 100 characters and without text of the model. */
  detail: string;
}

export interface RenderedRequest {
  /** Relative to the upstream's base URL, without a leading slash. The catalog may have another one. */
  path: string;
  /** End of the path, also of one in the catalog, in dialects that name the operation there. */
  action?: string;
  /** Query parameters, without a question mark. */
  query?: string;
  /** The dialect's own: its version and the key. */
  headers: Record<string, string>;
  /** Sent as JSON. */
  body: object;
}

export interface ErrorReply {
  status: number;
  headers: IncomingHttpHeaders;
  /** First 64 KiB. */
  body: string;
}

/**
 * Renders requests to one dialect and parses its replies. Adapters are pure: no I/O and no clock. Events follow the grammar of
 * `stream-event.ts`, without `upstream-start` and `completion-failure`: a failure is thrown as an `UpstreamFailure`, after the events
 * that preceded it were appended.
 */
export interface UpstreamAdapter {
  readonly kind: Upstream['kind'];
  /** True when the dialect can match the stop sequence at this position of the list; absent: any. The proxy matches the others. */
  takesStop?(sequence: string, position: number): boolean;
  renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest;
  /** Parses a plain reply and appends its events, including the terminal one. */
  parseReply(body: string, call: UpstreamCall, events: StreamEvent[]): void;
  openStream(call: UpstreamCall): StreamParser;
  /** Returns the failure of a reply with a status other than 200. */
  parseError(reply: ErrorReply, call: UpstreamCall): UpstreamFailure;
  /** Absent: the dialect has no embeddings. */
  embeddings?: EmbeddingsAdapter;
}

export type EmbeddingInput = EmbeddingInputs['inputs'][number];
/** A vector as an `embedding-delta` has it. */
export type Vector = string | number[];

/** Renders requests for embeddings and parses their replies. */
export interface EmbeddingsAdapter {
  renderRequest(call: UpstreamCall, inputs: readonly EmbeddingInput[], apiKey: string | undefined): RenderedRequest;
  /**
   * Returns a vector for each input, in their order, and the tokens of the prompt if they were counted. Throws `UpstreamFailure` for anything
   * else than `inputs` vectors of `dimensions`.
   */
  parseReply(
    body: string,
    call: UpstreamCall,
    size: { inputs: number; dimensions: number },
  ): { vectors: Vector[]; usage: PromptUsage | undefined };
}

/** Parses one stream. Appends nothing after the terminal event. */
export interface StreamParser {
  /** Appends the events of one SSE payload. */
  push(payload: string, events: StreamEvent[]): void;
  /** Call when the upstream has closed the stream. Appends the end, or throws when the reply is incomplete. */
  end(events: StreamEvent[]): void;
  /** True when the terminal event has been appended. */
  readonly done: boolean;
  /** Usage that the upstream has reported so far, in dialects that report before the end. */
  readonly usageSoFar?: Usage | undefined;
  /** Tier that the last event with one says (`servedTier`): known before the usage. */
  readonly tier?: string | undefined;
  /** True after the finish, in dialects whose usage and end marker may follow it: `end` may be called although the upstream is open. */
  readonly hasFinish?: boolean;
  /** The reason of that finish. */
  readonly finishReason?: FinishReason | undefined;
}
