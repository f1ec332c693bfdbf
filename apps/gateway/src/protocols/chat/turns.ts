import { GatewayError } from '#inference/errors.js';
import type { AssistantTurn, ImagePart, TextPart, ToolCallPart, ToolResult, Turn, UserTurn } from '#inference/turn.js';
import { parseImageDataUrl } from '../body-fields/base64-image.js';
import {
  asObject,
  invalidField,
  isAbsent,
  isObject,
  type JsonObject,
  readArray,
  readMessages,
  readName,
  readObject,
  readOptionalString,
  readString,
} from '../body-fields/body-fields.js';
import { CallPairs } from '../tool-calls/call-pairs.js';
import type { WireNames } from '../tool-calls/wire-names.js';
import { readKind } from './tools.js';

/** Parses `messages` into turns, in order. Consecutive tool messages become one turn. */
export function parseTurns(source: JsonObject, names: WireNames): Turn[] {
  const messages = readMessages(source);
  const turns: Turn[] = [];
  const pairs = new CallPairs();
  let toolResults: ToolResult[] | undefined;
  for (let index = 0; index < messages.length; index++) {
    const path = `messages[${index}]`;
    const message = asObject(messages[index], path);
    if (message.role !== 'tool') {
      toolResults = undefined;
      pairs.addTurn();
      turns.push(parseTurn(message, path, names, pairs));
    } else if (toolResults === undefined) {
      toolResults = [parseToolResult(message, path, pairs)];
      turns.push({ role: 'tool', results: toolResults });
    } else {
      toolResults.push(parseToolResult(message, path, pairs));
    }
  }
  pairs.end();
  return turns;
}

function parseTurn(message: JsonObject, path: string, names: WireNames, pairs: CallPairs): Turn {
  switch (readName(message, 'role', path)) {
    case 'system':
    case 'developer':
      return { role: 'system', parts: parseTexts(message, path), name: readOptionalString(message, 'name', path) };
    case 'user':
      return parseUserTurn(message, path);
    case 'assistant':
      return parseAssistantTurn(message, path, names, pairs);
    default:
      throw invalidField(`${path}.role`, 'must be one of system, developer, user, assistant, tool');
  }
}

function parseUserTurn(message: JsonObject, path: string): UserTurn {
  return { role: 'user', parts: parseContent(message, path, parseUserPart), name: readOptionalString(message, 'name', path) };
}

/**
 * Parses an assistant message. Other fields of earlier replies (`annotations`, `audio`, …) are dropped. A refusal becomes text. Reasoning
 * is kept for upstreams that require it. A message without text and without tool calls gets an empty text.
 */
function parseAssistantTurn(message: JsonObject, path: string, names: WireNames, pairs: CallPairs): AssistantTurn {
  const parts: AssistantTurn['parts'] = [];
  // Some clients send `reasoning`.
  const reasoning = message.reasoning_content ?? message.reasoning;
  if (typeof reasoning === 'string' && reasoning !== '') parts.push({ type: 'reasoning', text: reasoning });
  const calls = readArray(message, 'tool_calls', path);
  const texts = isAbsent(message.content) ? [] : parseContent(message, path, parseAssistantPart);
  for (const text of texts) if (text.text !== '') parts.push(text);
  if (typeof message.refusal === 'string' && message.refusal !== '') parts.push({ type: 'text', text: message.refusal });
  if (calls.length === 0 && !parts.some((part) => part.type === 'text')) parts.push({ type: 'text', text: '' });
  for (let index = 0; index < calls.length; index++) {
    const call = parseToolCall(calls[index], `${path}.tool_calls[${index}]`, names);
    pairs.addCall(call.callId, `${path}.tool_calls[${index}].id`);
    parts.push(call);
  }
  return { role: 'assistant', parts };
}

/**
 * Parses a tool call of an earlier turn. Its arguments come from a model and are forwarded unchanged, even if they are invalid. Empty
 * arguments become `{}`.
 */
function parseToolCall(value: unknown, path: string, names: WireNames): ToolCallPart {
  const call = asObject(value, path);
  const callId = readName(call, 'id', path);
  const kind = isAbsent(call.type) ? 'function' : readKind(call, path);
  const called = readObject(call, kind, path);
  const calledPath = `${path}.${kind}`;
  const tool = { name: readName(called, 'name', calledPath) };
  const argumentsText =
    kind === 'custom' ? readString(called, 'input', calledPath) : readOptionalString(called, 'arguments', calledPath) || '{}';
  return { type: 'tool-call', callId, tool, wireName: names.nameFor(tool), argumentsText, kind };
}

function parseToolResult(message: JsonObject, path: string, pairs: CallPairs): ToolResult {
  const result = { callId: readName(message, 'tool_call_id', path), parts: parseTexts(message, path) };
  pairs.addResult(result.callId, `${path}.tool_call_id`);
  return result;
}

function parseTexts(message: JsonObject, path: string): TextPart[] {
  return parseContent(message, path, parseTextPart);
}

/** Parses content: text, or an array of parts. An empty array becomes an empty text. */
function parseContent<Part extends TextPart | ImagePart>(
  message: JsonObject,
  path: string,
  parsePart: (part: JsonObject, path: string) => Part | TextPart,
): (Part | TextPart)[] {
  const { content } = message;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) {
    throw invalidField(`${path}.content`, isAbsent(content) ? 'is required' : 'must be a string or an array of parts');
  }
  if (content.length === 0) return [{ type: 'text', text: '' }];
  return content.map((part, index) => {
    const partPath = `${path}.content[${index}]`;
    return parsePart(asObject(part, partPath), partPath);
  });
}

function parseTextPart(part: JsonObject, path: string): TextPart {
  if (readName(part, 'type', path) !== 'text') throw invalidField(`${path}.type`, 'must be text: only user messages may have images');
  return { type: 'text', text: readString(part, 'text', path) };
}

function parseAssistantPart(part: JsonObject, path: string): TextPart {
  return part.type === 'refusal' ? { type: 'text', text: readString(part, 'refusal', path) } : parseTextPart(part, path);
}

function parseUserPart(part: JsonObject, path: string): TextPart | ImagePart {
  switch (readName(part, 'type', path)) {
    case 'text':
      return { type: 'text', text: readString(part, 'text', path) };
    case 'image_url':
      return parseImagePart(part, path);
    case 'input_audio':
    case 'file':
      throw new GatewayError('unsupported_content', `\`${path}.type\` must be text or image_url: audio and files are not accepted.`, {
        param: `${path}.type`,
      });
    default:
      throw invalidField(`${path}.type`, 'must be text or image_url');
  }
}

/** Parses an image. `image_url` is an object or, from some clients, a URL. */
function parseImagePart(part: JsonObject, path: string): ImagePart {
  const image = part.image_url;
  if (typeof image === 'string') return { type: 'image', ...parseImageDataUrl(image, `${path}.image_url`) };
  if (!isObject(image)) throw invalidField(`${path}.image_url`, isAbsent(image) ? 'is required' : 'must be an object with a `url`');
  const imagePath = `${path}.image_url`;
  const inline = parseImageDataUrl(readString(image, 'url', imagePath), `${imagePath}.url`);
  return { type: 'image', ...inline, detail: readOptionalString(image, 'detail', imagePath) };
}
