import type { CompletedToolCall, Completion } from '#inference/completion.js';
import type { FinishReason } from '#inference/stream-event.js';
import type { ReplyContext, ShownCompletion } from '../protocol-adapter.js';
import { renderFinishReason } from './finish-reason.js';
import { renderUsage } from './usage.js';

/** Renders the body of a plain reply. */
export function renderCompletion(reply: ReplyContext, completion: ShownCompletion): string {
  return JSON.stringify({
    id: renderId(reply),
    object: 'chat.completion',
    created: reply.createdSeconds,
    model: reply.model,
    system_fingerprint: null,
    choices: [
      {
        index: 0,
        message: renderMessage(completion),
        logprobs: null,
        finish_reason: renderFinishReason(completion.finishReason, completion.toolCalls.length > 0),
      },
    ],
    usage: renderUsage(completion.usage),
  });
}

export function renderId(reply: ReplyContext): string {
  return `chatcmpl-${reply.id}`;
}

/** Renders the message. `reasoning_content` and `tool_calls` are omitted when empty; `content` and `refusal` are always present. */
function renderMessage(completion: Completion) {
  const { text, refusal, reasoning, toolCalls, finishReason } = completion;
  const emptyIsNull = refusal !== '' || isEmptyContentNull(toolCalls.length > 0, reasoning !== '', finishReason);
  return {
    role: 'assistant',
    content: text === '' && emptyIsNull ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(renderToolCall) }),
  };
}

/** True when `content` without text is null, not `''`: with tool calls, and when reasoning used the whole output limit. */
export function isEmptyContentNull(hasToolCalls: boolean, hasReasoning: boolean, finishReason: FinishReason): boolean {
  return hasToolCalls || (hasReasoning && finishReason === 'length');
}

function renderToolCall({ callId: id, kind, tool: { name }, argumentsText }: CompletedToolCall) {
  if (kind === 'custom') return { id, type: kind, custom: { name, input: argumentsText } };
  return { id, type: kind, function: { name, arguments: argumentsText } };
}
