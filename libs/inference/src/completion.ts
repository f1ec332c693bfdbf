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
  /** The end of `text` that came after the first tool call had begun. Formats that put the message before the calls show it apart. */
  trailingText: string;
  /** Words in which the model refuses to answer; they follow `text`. */
  refusal: string;
  /** The end of `refusal` that came after the first tool call had begun. */
  trailingRefusal: string;
  reasoning: string;
  /** The start of `reasoning` that came before any text or call: formats whose order is fixed show no more (checklist 6). */
  leadingReasoning: string;
  toolCalls: CompletedToolCall[];
  finishReason: FinishReason;
  usage: Usage;
}
