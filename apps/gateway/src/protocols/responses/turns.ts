import { GatewayError, shortened } from '#inference/errors.js';
import type { AssistantTurn, ImagePart, SystemTurn, TextPart, ToolCallPart, ToolResult, Turn, UserTurn } from '#inference/turn.js';
import { parseImageDataUrl } from '../body-fields/base64-image.js';
import {
  asObject,
  fieldPath,
  invalidField,
  isAbsent,
  isObject,
  type JsonObject,
  readName,
  readOptionalString,
  readString,
} from '../body-fields/body-fields.js';
import { CallPairs } from '../tool-calls/call-pairs.js';
import { type DeclaredTools, readToolKey } from './tools.js';

/** Parses `input` to turns in order. Never returns an empty array. */
export function parseTurns(source: JsonObject, declared: DeclaredTools): Turn[] {
  const { input } = source;
  if (typeof input === 'string') return [{ role: 'user', parts: [{ type: 'text', text: input }] }];
  if (!Array.isArray(input)) throw invalidField('input', isAbsent(input) ? 'is required' : 'must be a string or an array of items');
  const conversation = new Conversation();
  for (let index = 0; index < input.length; index++) {
    const path = `input[${index}]`;
    parseItem(asObject(input[index], path), path, conversation, declared);
  }
  const turns = conversation.end();
  if (turns.length === 0) throw invalidField('input', 'must have at least one message');
  return turns;
}

/**
 * Builds the turns. Consecutive assistant items (messages and calls) are one turn, and so are consecutive results: upstreams require the
 * results of parallel calls directly after the turn with the calls.
 */
class Conversation {
  private readonly turns: Turn[] = [];
  /** Reasoning that waits for the item that it led to. Without one it is dropped. */
  private reasoning: string[] = [];
  private readonly pairs = new CallPairs();
  /** Ids of calls of hosted tools, which are dropped together with their outputs. */
  private readonly dropped = new Set<string>();

  add(turn: SystemTurn | UserTurn): void {
    this.reasoning = [];
    this.pairs.addTurn();
    this.turns.push(turn);
  }

  addReasoning(text: string): void {
    if (text !== '') this.reasoning.push(text);
  }

  addAssistant(parts: readonly (TextPart | ToolCallPart)[]): void {
    const last = this.turns.at(-1);
    const turn: AssistantTurn = last?.role === 'assistant' ? last : { role: 'assistant', parts: [] };
    if (turn !== last) {
      this.pairs.addTurn();
      this.turns.push(turn);
    }
    for (const text of this.reasoning) turn.parts.push({ type: 'reasoning', text });
    for (const part of parts) turn.parts.push(part);
    this.reasoning = [];
  }

  addCall(call: ToolCallPart, path: string): void {
    this.addAssistant([call]);
    this.pairs.addCall(call.callId, `${path}.call_id`);
  }

  dropCall(callId: string): void {
    this.dropped.add(callId);
  }

  addResult(result: ToolResult, path: string): void {
    if (this.dropped.has(result.callId)) return;
    this.pairs.addResult(result.callId, `${path}.call_id`);
    const last = this.turns.at(-1);
    this.reasoning = [];
    if (last?.role === 'tool') last.results.push(result);
    else this.turns.push({ role: 'tool', results: [result] });
  }

  end(): Turn[] {
    this.pairs.end();
    for (const turn of this.turns) {
      if (turn.role === 'assistant' && turn.parts.every(({ type }) => type === 'reasoning')) turn.parts.push({ type: 'text', text: '' });
    }
    return this.turns;
  }
}

function parseItem(item: JsonObject, path: string, conversation: Conversation, declared: DeclaredTools): void {
  switch (itemType(item, path)) {
    case 'message':
      parseMessage(item, path, conversation);
      return;
    case 'reasoning':
      conversation.addReasoning(reasoningText(item));
      return;
    case 'function_call':
      conversation.addCall(parseCall(item, path, 'function', declared), path);
      return;
    case 'custom_tool_call':
      conversation.addCall(parseCall(item, path, 'custom', declared), path);
      return;
    case 'function_call_output':
    case 'custom_tool_call_output':
      conversation.addResult({ callId: readName(item, 'call_id', path), parts: parseContent(item, 'output', path, parseAnyPart) }, path);
      return;
    case 'item_reference':
      throw new GatewayError(
        'unsupported_parameter',
        `\`${path}\` refers to a stored item, but nothing is stored: send items in full; set \`store: false\`.`,
        { param: path },
      );
    default:
      // `parseTools` reads the tools of `LOADING_ITEMS`.
      if (!isDropped(item)) throw unsupportedItem(item, path);
      if (typeof item.call_id === 'string') conversation.dropCall(item.call_id);
      return;
  }
}

/** Types of items that hosted tools leave behind, in conversations that began elsewhere. */
const TRACE = /_(?:call|output|list_tools|approval_request|approval_response)$/;

/**
 * True for an item that the model can do without: a trace of a hosted tool, or an unknown item that carries no text. Without a compaction,
 * the model would lack the conversation that it stands for.
 */
function isDropped({ type, text, content, encrypted_content: encrypted }: JsonObject): boolean {
  if (TRACE.test(String(type))) return true;
  return !String(type).includes('compaction') && ![text, content, encrypted].some((value) => typeof value === 'string' && value !== '');
}

/** Returns the error for an item that is a part of the conversation which Tollgate cannot read, such as a compaction. */
function unsupportedItem(item: JsonObject, path: string): GatewayError {
  const param = `${path}.type`;
  const type = JSON.stringify(shortened(String(item.type)));
  const message = `\`${param}\` is ${type}, which is not supported: send the conversation as messages, calls and their outputs.`;
  return new GatewayError('unsupported_parameter', message, { param });
}

/** Returns the type of an item. Messages and references may omit it. */
function itemType(item: JsonObject, path: string): string {
  if (!isAbsent(item.type)) return readName(item, 'type', path);
  if (!isAbsent(item.role)) return 'message';
  if (!isAbsent(item.id)) return 'item_reference';
  throw invalidField(path, 'must have a `type` or a `role`');
}

function parseMessage(item: JsonObject, path: string, conversation: Conversation): void {
  switch (readName(item, 'role', path)) {
    case 'system':
    case 'developer':
      conversation.add({ role: 'system', parts: parseContent(item, 'content', path, parseTextPart) });
      return;
    case 'user':
      conversation.add({ role: 'user', parts: parseContent(item, 'content', path, parseAnyPart) });
      return;
    case 'assistant':
      conversation.addAssistant(parseContent(item, 'content', path, parseTextPart).filter(({ text }) => text !== ''));
      return;
    default:
      throw invalidField(`${path}.role`, 'must be one of system, developer, user, assistant');
  }
}

/** Returns the text of a reasoning item. Invalid parts are ignored, because most upstreams never get it. */
function reasoningText(item: JsonObject): string {
  const texts = [item.content, item.summary].map((parts) =>
    (Array.isArray(parts) ? parts : []).flatMap((part) => (isObject(part) && typeof part.text === 'string' ? [part.text] : [])),
  );
  return (texts.find((found) => found.length > 0) ?? []).join('\n\n');
}

/** Parses a tool call of an earlier turn. Its arguments come from a model and are forwarded unchanged, even if they are invalid. */
function parseCall(item: JsonObject, path: string, kind: ToolCallPart['kind'], declared: DeclaredTools): ToolCallPart {
  const callId = readName(item, 'call_id', path);
  const tool = readToolKey(item, path);
  const argumentsText = kind === 'custom' ? readString(item, 'input', path) : readString(item, 'arguments', path) || '{}';
  return { type: 'tool-call', callId, tool, wireName: declared.toWireName(tool), argumentsText, kind };
}

/** Parses content: text, or an array of parts. An empty array becomes an empty text. */
function parseContent<Part extends TextPart | ImagePart>(
  item: JsonObject,
  field: string,
  path: string,
  parsePart: (part: JsonObject, path: string) => Part | TextPart,
): (Part | TextPart)[] {
  const content = item[field];
  const contentPath = fieldPath(path, field);
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw invalidField(contentPath, isAbsent(content) ? 'is required' : 'must be a string or an array of parts');
  if (content.length === 0) return [{ type: 'text', text: '' }];
  return content.map((part, index) => parsePart(asObject(part, `${contentPath}[${index}]`), `${contentPath}[${index}]`));
}

function parseAnyPart(part: JsonObject, path: string): TextPart | ImagePart {
  return part.type === 'input_image' ? parseImagePart(part, path) : parseTextPart(part, path);
}

function parseTextPart(part: JsonObject, path: string): TextPart {
  switch (readName(part, 'type', path)) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: readString(part, 'text', path) };
    case 'refusal':
      return { type: 'text', text: readString(part, 'refusal', path) };
    case 'input_image':
      throw invalidField(`${path}.type`, 'must be input_text or output_text: only user messages and tool outputs have images');
    case 'input_file':
    case 'input_audio': {
      const param = `${path}.type`;
      throw new GatewayError('unsupported_content', `\`${param}\` must be input_text or input_image: files and audio are not accepted.`, {
        param,
      });
    }
    default:
      throw invalidField(`${path}.type`, 'must be one of input_text, output_text, input_image');
  }
}

function parseImagePart(part: JsonObject, path: string): ImagePart {
  if (!isAbsent(part.file_id)) {
    const param = `${path}.file_id`;
    throw new GatewayError('image_url_not_supported', `\`${param}\` is not supported: send a base64 data URL in \`image_url\`.`, { param });
  }
  const inline = parseImageDataUrl(readString(part, 'image_url', path), `${path}.image_url`);
  return { type: 'image', ...inline, detail: readOptionalString(part, 'detail', path) };
}
