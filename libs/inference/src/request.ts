import type { Tool, ToolChoice } from './tool.js';
import type { Turn } from './turn.js';

export type OutputFormat =
  | { kind: 'text' }
  | { kind: 'json-object' }
  | { kind: 'json-schema'; name: string; schema: Record<string, unknown>; strict?: boolean; description?: string };

/** Sampling options that are forwarded to upstreams that support them, and dropped elsewhere. */
export interface Hints {
  seed?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  reasoningEffort?: string;
  /** The client switched reasoning off. */
  reasoningOff?: true;
  parallelToolCalls?: boolean;
}

/** Inputs of a request for embeddings: texts, or the tokens of texts. */
export interface EmbeddingInputs {
  inputs: (string | number[])[];
  /** Length of the vectors. Absent: the model's own. */
  dimensions?: number;
}

/**
 * A generation request, independent of client formats. Plain JSON, so that it crosses NATS unchanged. It has been validated: client tools
 * only, consecutive tool results merged, no `toolChoice` without tools.
 */
export interface InferenceRequest {
  model: string;
  turns: Turn[];
  tools: Tool[];
  toolChoice?: ToolChoice;
  /** The client's cap; absent means the model's default. The effective cap is `Ticket.outputTokensMax`. */
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  stop?: string[];
  output: OutputFormat;
  stream: boolean;
  endUser?: string;
  /** The client's `prompt_cache_key`: requests with one key share a cache of the account. */
  cacheKey?: string;
  hints: Hints;
  /** Set when the request is for embeddings: `turns` and `tools` are then empty, and `stream` is false. */
  embedding?: EmbeddingInputs;
}
