import type { ChatMessage, ChatPart } from '../../chat-request.js';
import { invalidValue, isObject } from '../../field-checks.js';
import { SimError } from '../../sim-error.js';

const ROLES = new Set(['system', 'developer', 'user', 'assistant']);
const CALL_ID_LENGTH_MAX = 64;

/** Parses the items of `input` to chat messages. A call joins the assistant message before it. */
export function parseInput(input: unknown): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  if (!Array.isArray(input) || input.length === 0) throw invalidValue('input', 'a string or a non-empty array');
  const messages: ChatMessage[] = [];
  const unanswered = new Set<string>();
  input.forEach((item: unknown, index) => {
    const at = `input[${index}]`;
    if (!isObject(item)) throw invalidValue(at, 'an object');
    switch (item.type ?? 'message') {
      case 'message':
        messages.push(parseMessage(item, at));
        return;
      case 'function_call':
      case 'custom_tool_call':
        addCall(parseCall(item, at), messages);
        unanswered.add(requireCallId(item, at));
        return;
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const callId = requireCallId(item, at);
        if (!unanswered.delete(callId))
          throw SimError.invalid(`No tool call found for function call output with call_id ${callId}.`, 'input');
        messages.push({ role: 'tool', tool_call_id: callId, content: parseContent(item.output, `${at}.output`) });
        return;
      }
      case 'reasoning':
        return;
      default:
        throw invalidValue(`${at}.type`, 'an item that needs no state');
    }
  });
  for (const callId of unanswered) throw SimError.invalid(`No tool output found for function call ${callId}.`, 'input');
  return messages;
}

function parseMessage(item: Record<string, unknown>, at: string): ChatMessage {
  if (typeof item.role !== 'string' || !ROLES.has(item.role)) throw invalidValue(`${at}.role`, `one of ${[...ROLES].join(', ')}`);
  return { role: item.role as ChatMessage['role'], content: parseContent(item.content, `${at}.content`) };
}

/** Parses the content of a message or of a tool's result to chat parts. */
function parseContent(content: unknown, at: string): string | ChatPart[] {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidValue(at, 'a string or an array of parts');
  return content.map((part: unknown, index): ChatPart => {
    if (isObject(part)) {
      const isText = part.type === 'input_text' || part.type === 'output_text';
      if (isText && typeof part.text === 'string') return { type: 'text', text: part.text };
      if (part.type === 'refusal' && typeof part.refusal === 'string') return { type: 'text', text: part.refusal };
      if (part.type === 'input_image' && typeof part.image_url === 'string')
        return { type: 'image_url', image_url: { url: part.image_url } };
    }
    throw invalidValue(`${at}[${index}]`, 'an input_text, output_text, refusal or input_image part');
  });
}

type Call = NonNullable<ChatMessage['tool_calls']>[number];

function parseCall(item: Record<string, unknown>, at: string): Call {
  const text = item.type === 'custom_tool_call' ? item.input : item.arguments;
  if (typeof item.name !== 'string') throw invalidValue(`${at}.name`, 'a string');
  if (typeof text !== 'string') throw invalidValue(at, 'a call with its arguments or its input');
  return {
    id: requireCallId(item, at),
    function: { name: item.name, arguments: item.type === 'custom_tool_call' ? JSON.stringify({ input: text }) : text },
  };
}

function addCall(call: Call, messages: ChatMessage[]): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call];
  else messages.push({ role: 'assistant', content: null, tool_calls: [call] });
}

function requireCallId({ call_id: callId }: Record<string, unknown>, at: string): string {
  const valid = typeof callId === 'string' && callId !== '' && callId.length <= CALL_ID_LENGTH_MAX;
  if (!valid) throw invalidValue(`${at}.call_id`, `a string of 1 to ${CALL_ID_LENGTH_MAX} characters`);
  return callId;
}
