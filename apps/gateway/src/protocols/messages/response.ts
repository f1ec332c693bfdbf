import type { CompletedToolCall } from '#inference/completion.js';
import type { ReplyContext, ReplyOptions, ShownCompletion } from '../protocol-adapter.js';
import { safeCallId } from '../tool-calls/call-ids.js';
import { ToolInput } from '../tool-calls/tool-input.js';
import { renderStopReason, type StopReason } from './finish-reason.js';
import type { MessagesRequest } from './request.js';
import { type MessageUsage, renderUsage } from './usage.js';

/** Renders the body of a plain reply: thinking, text, tool use. Text after a call follows all calls, as in a stream. */
export function renderCompletion(
  reply: ReplyContext,
  { showThinking }: ReplyOptions<MessagesRequest>,
  completion: ShownCompletion,
): string {
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

/** Renders a message of rendered blocks. A stream opens with a message without blocks or a stop reason. */
export function renderMessage(reply: ReplyContext, blocks: readonly string[], stopReason: StopReason | null, usage: MessageUsage): string {
  const start = JSON.stringify({ id: `msg_${reply.id}`, type: 'message', role: 'assistant', model: reply.model });
  const end = JSON.stringify({ stop_reason: stopReason, stop_sequence: null, usage });
  return `${start.slice(0, -1)},"content":[${blocks.join()}],${end.slice(1)}`;
}

/** Renders thinking. `signature` is empty, not absent: clients check that it is a string. */
function renderThinking(thinking: string): string {
  return JSON.stringify({ type: 'thinking', thinking, signature: '' });
}

/** Renders text without `citations`: even null breaks a client. */
function renderText(text: string): string {
  return JSON.stringify({ type: 'text', text });
}

/** Renders a tool call. The input keeps the model's text, so that numbers keep their digits. */
function renderToolUse({ callId, tool, argumentsText }: CompletedToolCall): string {
  const start = JSON.stringify({ type: 'tool_use', id: safeCallId(callId), name: tool.name });
  const input = new ToolInput();
  return `${start.slice(0, -1)},"input":${input.push(argumentsText)}${input.end()}}`;
}
