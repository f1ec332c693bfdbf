import type { Tool, ToolChoice } from './tool.js';
import type { Turn } from './turn.js';

export type OutputFormat =
  | { kind: 'text' }
  | { kind: 'json-object' }
  | { kind: 'json-schema'; name: string; schema: Record<string, unknown>; strict?: boolean; description?: string };

/** Sampling wishes that are forwarded where the upstream takes them and are never an error. */
export interface Hints {
  seed?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  reasoningEffort?: string;
  parallelToolCalls?: boolean;
}

/**
 * A generation request in no client's format. Plain JSON, so that it crosses NATS as it is. Validated and complete:
 * client tools only, consecutive tool results merged, `toolChoice` absent when there are no tools (C-9).
 */
export interface InferenceRequest {
  model: string;
  turns: Turn[];
  tools: Tool[];
  toolChoice?: ToolChoice;
  /** As the client asked; absent means the model's default. The effective cap is `Ticket.outputTokensMax`. */
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  stop?: string[];
  output: OutputFormat;
  stream: boolean;
  endUser?: string;
  hints: Hints;
}
