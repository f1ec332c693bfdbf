import type { FinishReason } from './stream-event.js';
import type { ToolKey } from './tool.js';
import type { Usage } from './usage.js';

export interface CompletedToolCall {
  callId: string;
  tool: ToolKey;
  kind: 'function' | 'custom';
  /** JSON text as the model wrote it, or a custom tool's raw input. */
  argumentsText: string;
}

/** A whole reply: the fold of a stream of events. */
export interface Completion {
  text: string;
  reasoning: string;
  toolCalls: CompletedToolCall[];
  finishReason: FinishReason;
  usage: Usage;
}
