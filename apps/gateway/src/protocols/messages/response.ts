import type { CompletedToolCall, Completion } from '#inference/completion.js';
import type { ReplyContext, ReplyOptions } from '../protocol-adapter.js';
import { safeCallId } from '../tool-calls/call-ids.js';
import { ToolInput } from '../tool-calls/tool-input.js';
import { renderStopReason, type StopReason } from './finish-reason.js';
import type { MessagesRequest } from './request.js';
import { type MessageUsage, renderUsage } from './usage.js';

/**
 * The body of a plain reply (spec 2.6, M-31): thinking, text, tool use. Text that a model added to its calls stands behind
 * them, as it does in a stream, which cannot take a block back.
 */
export function renderCompletion(reply: ReplyContext, { showThinking }: ReplyOptions<MessagesRequest>, completion: Completion): string {
  const { text, trailingText, refusal, trailingRefusal, leadingReasoning, toolCalls, finishReason, usage } = completion;
  const blocks: string[] = [];
  if (showThinking && leadingReasoning !== '') blocks.push(renderThinking(leadingReasoning));
  const leading = withoutEnd(text, trailingText) + withoutEnd(refusal, trailingRefusal);
  const trailing = trailingText + trailingRefusal;
  if (leading !== '') blocks.push(renderText(leading));
  for (const call of toolCalls) blocks.push(renderToolUse(call));
  if (trailing !== '') blocks.push(renderText(trailing));
  return renderMessage(reply, blocks, renderStopReason(finishReason, toolCalls.length > 0, refusal !== ''), renderUsage(usage));
}

function withoutEnd(text: string, end: string): string {
  return text.slice(0, text.length - end.length);
}

/** A message of rendered blocks; the shell that opens a stream is one too, without blocks or a reason to stop. */
export function renderMessage(reply: ReplyContext, blocks: readonly string[], stopReason: StopReason | null, usage: MessageUsage): string {
  const start = JSON.stringify({ id: `msg_${reply.id}`, type: 'message', role: 'assistant', model: reply.model });
  const end = JSON.stringify({ stop_reason: stopReason, stop_sequence: null, usage });
  return `${start.slice(0, -1)},"content":[${blocks.join()}],${end.slice(1)}`;
}

/** `signature` is empty, never absent: clients check that it is a text (M-23). */
function renderThinking(thinking: string): string {
  return JSON.stringify({ type: 'thinking', thinking, signature: '' });
}

/** No `citations`, not even null: that breaks a client (M-31). */
function renderText(text: string): string {
  return JSON.stringify({ type: 'text', text });
}

/** The input keeps the text of the model, and with it the digits of its numbers (T-46). */
function renderToolUse({ callId, tool, argumentsText }: CompletedToolCall): string {
  const start = JSON.stringify({ type: 'tool_use', id: safeCallId(callId), name: tool.name });
  const input = new ToolInput();
  return `${start.slice(0, -1)},"input":${input.push(argumentsText)}${input.end()}}`;
}
