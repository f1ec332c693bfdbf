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

/** A whole reply, folded from its stream of events. */
export interface Completion {
  text: string;
  /** The part of `text` after the start of the first tool call. Formats that put the message before the calls render it separately. */
  trailingText: string;
  /** The refusal of the model, after `text`. */
  refusal: string;
  /** The part of `refusal` after the start of the first tool call. */
  trailingRefusal: string;
  reasoning: string;
  /** The part of `reasoning` before any text or call. Formats with a fixed order of blocks render only this part. */
  leadingReasoning: string;
  toolCalls: CompletedToolCall[];
  finishReason: FinishReason;
  usage: Usage;
}
