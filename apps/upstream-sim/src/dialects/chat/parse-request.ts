import type { ChatRequest } from '../../chat-request.js';
import { checkCacheFields, invalidValue, isObject, parseBody } from '../../field-checks.js';
import { SimError } from '../../sim-error.js';

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

/**
 * Parses a request body as strictly as the strictest real servers do, so that a proxy's mistakes show. Every refusal is a 400
 * that names the field. Unknown fields are ignored.
 */
export function parseChatRequest(body: string): ChatRequest {
  const value = parseBody(body);
  if (!Array.isArray(value.messages) || value.messages.length === 0) throw invalidValue('messages', 'a non-empty array');
  value.messages.forEach(checkMessage);
  checkTokenLimit(value, 'max_tokens');
  checkTokenLimit(value, 'max_completion_tokens');
  checkStop(value.stop);
  checkTools(value);
  checkCacheFields(value);
  if (value.stream_options != null && value.stream !== true) {
    throw SimError.invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options');
  }
  return value as unknown as ChatRequest;
}

function checkMessage(message: unknown, index: number): void {
  const at = `messages[${index}]`;
  if (!isObject(message)) throw invalidValue(at, 'an object');
  if (typeof message.role !== 'string' || !ROLES.has(message.role)) throw invalidValue(`${at}.role`, `one of ${[...ROLES].join(', ')}`);
  const { content } = message;
  if (Array.isArray(content)) {
    for (const [position, part] of content.entries()) checkPart(part, `${at}.content[${position}]`);
  } else if (content != null && typeof content !== 'string') throw invalidValue(`${at}.content`, 'a string or an array of parts');
  else if (content == null && message.role !== 'assistant') throw invalidValue(`${at}.content`, 'a string or an array of parts');
  if (message.role === 'tool' && typeof message.tool_call_id !== 'string') throw invalidValue(`${at}.tool_call_id`, 'a string');
  if (message.tool_calls != null) checkCalls(message.tool_calls, `${at}.tool_calls`);
}

function checkPart(part: unknown, at: string): void {
  if (isObject(part) && part.type === 'text' && typeof part.text === 'string') return;
  if (isObject(part) && part.type === 'image_url' && isObject(part.image_url) && typeof part.image_url.url === 'string') return;
  throw invalidValue(at, 'a text or image_url part');
}

function checkCalls(calls: unknown, at: string): void {
  if (!Array.isArray(calls) || calls.length === 0) throw invalidValue(at, 'a non-empty array');
  calls.forEach((call, index) => {
    const valid = isObject(call) && typeof call.id === 'string' && isObject(call.function);
    if (!valid || !isObject(call.function)) throw invalidValue(`${at}[${index}]`, 'a tool call with id and function');
    if (typeof call.function.name !== 'string') throw invalidValue(`${at}[${index}].function.name`, 'a string');
    if (typeof call.function.arguments !== 'string') throw invalidValue(`${at}[${index}].function.arguments`, 'a string');
  });
}

function checkTokenLimit(request: Record<string, unknown>, field: string): void {
  const limit = request[field];
  if (limit != null && (!Number.isInteger(limit) || (limit as number) < 1)) throw invalidValue(field, 'an integer above 0');
}

function checkStop(stop: unknown): void {
  const sequences = Array.isArray(stop) ? stop : stop == null ? [] : [stop];
  const valid = sequences.length <= 4 && sequences.every((text) => typeof text === 'string' && text !== '');
  if (!valid) throw invalidValue('stop', 'a string or up to four strings');
}

function checkTools({ tools, tool_choice: choice }: Record<string, unknown>): void {
  if (tools == null) {
    if (choice != null && choice !== 'none')
      throw SimError.invalid("'tool_choice' is only allowed when 'tools' are specified.", 'tool_choice');
    return;
  }
  if (!Array.isArray(tools) || tools.length === 0) throw invalidValue('tools', 'a non-empty array');
  const names = tools.map((tool, index) => {
    const valid = isObject(tool) && tool.type === 'function' && isObject(tool.function) && typeof tool.function.name === 'string';
    if (!valid) throw invalidValue(`tools[${index}]`, 'a function tool with a name');
    return (tool as { function: { name: string } }).function.name;
  });
  if (isObject(choice) && isObject(choice.function) && !names.includes(choice.function.name as string)) {
    throw SimError.invalid(`Tool choice '${choice.function.name}' not found in 'tools' parameter.`, 'tool_choice');
  }
}
