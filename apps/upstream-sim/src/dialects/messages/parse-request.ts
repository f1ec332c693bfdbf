import type { ChatMessage, ChatPart, ChatRequest, ChatTool } from '../../chat-request.js';
import { isObject, type Json, parseJson } from '../../field-checks.js';
import type { Prefix } from '../../prompt-cache.js';
import { promptTokens } from '../../reply/usage-rule.js';
import { SimError } from '../../sim-error.js';
import { type CacheMarker, joinBlocks, prefixKeys, promptBlocks, readMarkers } from './prompt-blocks.js';

/**
 * Parses a request body to a chat request. As strict as the real server where a proxy's mistakes would show: a missing cap, roles
 * that do not alternate, tool results behind text, blank texts and blank stop sequences are refused.
 */
export function parseMessagesRequest(body: string): ChatRequest {
  const value = parseJson(body);
  if (!isObject(value) || typeof value.model !== 'string') throw wrong('model', 'Field required');
  if (!Number.isInteger(value.max_tokens) || (value.max_tokens as number) < 1) throw wrong('max_tokens', 'Field required');
  if (!Array.isArray(value.messages) || value.messages.length === 0) throw wrong('messages', 'at least one message is required');
  const stops = value.stop_sequences ?? [];
  if (!Array.isArray(stops) || !stops.every((stop) => typeof stop === 'string' && stop.trim() !== '')) {
    throw wrong('stop_sequences', 'each stop sequence must contain non-whitespace');
  }
  const markers = body.includes('"cache_control"') ? readMarkers(promptBlocks(value)) : [];
  const choice = isObject(value.tool_choice) ? value.tool_choice : undefined;
  const format = isObject(value.output_config) && isObject(value.output_config.format) ? value.output_config.format : undefined;
  return {
    model: value.model,
    ...parsePrompt(value),
    stream: value.stream === true,
    max_tokens: value.max_tokens as number,
    stop: stops.length > 0 ? (stops as string[]) : null,
    tool_choice: choice === undefined ? null : readChoice(choice),
    parallel_tool_calls: choice?.disable_parallel_tool_use === true ? false : null,
    response_format: format ? { type: 'json_schema', json_schema: { schema: format.schema as Json } } : null,
    ...(markers.length === 0 ? {} : { cache_control: markers }),
  };
}

/** Returns the prefixes of a valid body for its cache: the prompt up to the end of each block, marked or not. */
export function markedPrefixes(body: string, markers: readonly CacheMarker[]): Prefix[] {
  const value = JSON.parse(body) as Json;
  const blocks = promptBlocks(value);
  const prefixes: Prefix[] = prefixKeys(String(value.model), blocks).map((key) => ({ key }));
  for (const { index, ttl } of markers) {
    const prefix = prefixes[index] as Prefix;
    prefix.marker = { tokens: promptTokens(parsePrompt(joinBlocks(blocks.slice(0, index + 1)))), ttl };
  }
  return prefixes;
}

function parsePrompt({ system, messages, tools }: Json): Pick<ChatRequest, 'messages' | 'tools'> {
  return {
    messages: [...readSystem(system), ...(messages as unknown[]).flatMap(readMessage)],
    tools: Array.isArray(tools) && tools.length > 0 ? tools.map(readTool) : null,
  };
}

function readSystem(system: unknown): ChatMessage[] {
  if (system == null) return [];
  if (typeof system === 'string') return [{ role: 'system', content: system }];
  if (!Array.isArray(system) || !system.every((block) => isObject(block) && block.type === 'text')) throw wrong('system', 'text blocks');
  return system.length === 0 ? [] : [{ role: 'system', content: system.map((block: Json) => readPart(block, 'system')) }];
}

function readMessage(message: unknown, index: number, all: unknown[]): ChatMessage[] {
  const at = `messages.${index}`;
  if (!isObject(message) || (message.role !== 'user' && message.role !== 'assistant')) throw wrong(`${at}.role`, 'user or assistant');
  const before = all[index - 1];
  if (message.role === (isObject(before) ? before.role : 'assistant')) throw wrong(`${at}.role`, 'roles must alternate, user first');
  const content = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
  if (!Array.isArray(content) || content.length === 0 || !content.every(isObject)) throw wrong(`${at}.content`, 'blocks are required');
  return message.role === 'assistant' ? [readAssistant(content, at)] : readUser(content, at);
}

function readAssistant(blocks: Json[], at: string): ChatMessage {
  const calls = blocks.filter((block) => block.type === 'tool_use');
  for (const { input } of calls) if (!isObject(input)) throw wrong(`${at}.content.tool_use.input`, 'Input should be a valid dictionary');
  return {
    role: 'assistant',
    content: blocks.filter((block) => block.type !== 'tool_use').map((block) => readPart(block, at)),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, input }) => ({
            id: String(id),
            function: { name: String(name), arguments: JSON.stringify(input) },
          })),
        }),
  };
}

/** Tool results become messages of their own, before the rest of what the user says. */
function readUser(blocks: Json[], at: string): ChatMessage[] {
  const others = blocks.filter((block) => block.type !== 'tool_result');
  const results = blocks.slice(0, blocks.length - others.length);
  if (results.some((block) => block.type !== 'tool_result')) throw wrong(`${at}.content`, 'tool_result blocks come first');
  const messages = results.map((block): ChatMessage => {
    const content = typeof block.content === 'string' ? [{ type: 'text', text: block.content }] : (block.content ?? []);
    return { role: 'tool', tool_call_id: String(block.tool_use_id), content: (content as Json[]).map((part) => readPart(part, at)) };
  });
  return others.length === 0 ? messages : [...messages, { role: 'user', content: others.map((block) => readPart(block, at)) }];
}

function readPart(block: Json, at: string): ChatPart {
  if (block.type === 'text' && typeof block.text === 'string') {
    if (block.text.trim() === '') throw wrong(at, 'text content blocks must contain non-whitespace text');
    return { type: 'text', text: block.text };
  }
  const { source } = block;
  if (block.type === 'image' && isObject(source) && source.type === 'base64') {
    return { type: 'image_url', image_url: { url: `data:${source.media_type};base64,${source.data}` } };
  }
  throw wrong(at, `a block of type ${block.type} is not expected here`);
}

function readTool(tool: unknown): ChatTool {
  if (!isObject(tool) || typeof tool.name !== 'string' || !isObject(tool.input_schema)) throw wrong('tools', 'name and input_schema');
  const { name, description, input_schema: parameters } = tool;
  return { type: 'function', function: { name, ...(typeof description === 'string' ? { description } : {}), parameters } };
}

function readChoice({ type, name }: Json): ChatRequest['tool_choice'] {
  if (type === 'tool') return { type: 'function', function: { name: String(name) } };
  return type === 'any' ? 'required' : type === 'none' ? 'none' : 'auto';
}

function wrong(field: string, text: string): SimError {
  return SimError.invalid(`${field}: ${text}`, field);
}
