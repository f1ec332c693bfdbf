import { GatewayError } from '#inference/errors.js';
import type { AssistantTurn, ImagePart, TextPart, ToolCallPart, ToolResult, ToolTurn, Turn } from '#inference/turn.js';
import { parseBase64Image } from '../body-fields/base64-image.js';
import {
  asObject,
  fieldPath,
  invalidField,
  isAbsent,
  isObject,
  type JsonObject,
  readArray,
  readMessages,
  readName,
  readObject,
  readOptionalBoolean,
  readOptionalObject,
  readOptionalString,
  readString,
} from '../body-fields/body-fields.js';
import { safeCallId } from '../tool-calls/call-ids.js';
import { CallPairs } from '../tool-calls/call-pairs.js';
import type { WireNames } from '../tool-calls/wire-names.js';

/** Parses `system` and `messages` to turns. */
export function parseTurns(source: JsonObject, names: WireNames): Turn[] {
  const messages = readMessages(source);
  const conversation = new Conversation();
  if (!isAbsent(source.system)) addSystemPrompt(conversation, source);
  const lastUser = messages.findLastIndex((message) => isObject(message) && message.role === 'user');
  for (let index = 0; index < messages.length; index++) {
    const path = `messages[${index}]`;
    const message = asObject(messages[index], path);
    if (message.role === 'system') addSystemTurn(conversation, message, path, index < lastUser);
    else addMessage(conversation, message, path, names);
  }
  return conversation.end();
}

/**
 * Builds the turns. Consecutive messages of one role are one turn. Tool results between two assistant turns come first, because upstreams
 * accept nothing between a call and its result. Everything else keeps its place, so that the start of the prompt stays the same from
 * request to request.
 */
class Conversation {
  private readonly turns: Turn[] = [];
  /** Index of the first turn after the last assistant turn. */
  private runStart = 0;
  private runResults: ToolTurn | undefined;
  private readonly pairs = new CallPairs();

  addSystem(part: TextPart): void {
    this.openTurn('system', () => ({ role: 'system', parts: [] })).parts.push(part);
  }

  addUser(part: TextPart | ImagePart): void {
    this.openTurn('user', () => ({ role: 'user', parts: [] })).parts.push(part);
  }

  addResult(result: ToolResult, path: string): void {
    this.pairs.addResult(result.callId, `${path}.tool_use_id`);
    if (this.runResults === undefined) {
      this.runResults = { role: 'tool', results: [] };
      this.turns.splice(this.runStart, 0, this.runResults);
    }
    this.runResults.results.push(result);
  }

  addCall(call: ToolCallPart, path: string): void {
    this.addAssistant(call);
    this.pairs.addCall(call.callId, `${path}.id`);
  }

  addAssistant(part: AssistantTurn['parts'][number]): void {
    this.openTurn('assistant', () => ({ role: 'assistant', parts: [] })).parts.push(part);
    this.runStart = this.turns.length;
    this.runResults = undefined;
  }

  /** Returns the turns. A conversation with nothing but a system prompt gets a user turn of one space: upstreams refuse an empty one. */
  end(): Turn[] {
    this.pairs.end();
    if (this.turns.every(({ role }) => role === 'system')) this.addUser({ type: 'text', text: ' ' });
    return this.turns;
  }

  /** Returns the last turn if it has the role, else a new one. */
  private openTurn<Role extends Turn['role']>(role: Role, create: () => Extract<Turn, { role: Role }>): Extract<Turn, { role: Role }> {
    const last = this.turns.at(-1);
    if (last?.role === role) return last as Extract<Turn, { role: Role }>;
    const turn = create();
    this.pairs.addTurn();
    this.turns.push(turn);
    return turn;
  }
}

function addMessage(conversation: Conversation, message: JsonObject, path: string, names: WireNames): void {
  switch (readName(message, 'role', path)) {
    case 'user':
      addUserMessage(conversation, message, path);
      break;
    case 'assistant':
      addAssistantMessage(conversation, message, path, names);
      break;
    default:
      throw invalidField(`${path}.role`, 'must be one of user, assistant, system');
  }
}

function addSystemPrompt(conversation: Conversation, source: JsonObject): void {
  for (const [block, path] of readBlocks(source, 'system', '')) {
    if (readName(block, 'type', path) !== 'text') throw invalidField(`${path}.type`, 'must be text');
    addSystemText(conversation, readString(block, 'text', path));
  }
}

/** Types of blocks that hold content for the model. The format has them in other messages than those of the system. */
export const CONTENT_OF_OTHERS = ['image', 'document', 'container_upload', 'search_result', 'tool_result', 'tool_use'];

/**
 * Adds the texts of a system message. `parseTools` reads its tool changes. Blocks of unknown types are dropped, because they are directives
 * to a vendor's server which stay in the history: an error would end the session. `isFollowed`: a user message comes later.
 */
function addSystemTurn(conversation: Conversation, message: JsonObject, path: string, isFollowed: boolean): void {
  if (isAbsent(message.content) && isObject(message.output_config)) return;
  const isCleared = isFollowed && message.clear_at === 'next_user_message';
  for (const [block, blockPath] of readBlocks(message, 'content', path)) {
    const type = readName(block, 'type', blockPath);
    if (CONTENT_OF_OTHERS.includes(type)) throw invalidField(`${blockPath}.type`, 'must be text or a change of tools');
    if (type !== 'text') continue;
    const text = readString(block, 'text', blockPath);
    if (!isCleared) addSystemText(conversation, text);
  }
}

/** First line of Claude Code's system prompt. It differs in every request and would defeat prompt caches, so it is removed. */
const BILLING_HEADER = /^x-anthropic-billing-header:[^\n]*\n?/;

function addSystemText(conversation: Conversation, sent: string): void {
  const text = sent.replace(BILLING_HEADER, '');
  if (text !== '') conversation.addSystem({ type: 'text', text });
}

function addUserMessage(conversation: Conversation, message: JsonObject, path: string): void {
  for (const [block, blockPath] of readBlocks(message, 'content', path)) {
    if (block.type === 'tool_result') conversation.addResult(parseToolResult(block, blockPath), blockPath);
    else for (const part of parsePart(block, blockPath)) conversation.addUser(part);
  }
}

/** Adds an assistant message. A message without text or calls is dropped together with its reasoning. */
function addAssistantMessage(conversation: Conversation, message: JsonObject, path: string, names: WireNames): void {
  const parts: [part: AssistantTurn['parts'][number], path: string][] = [];
  for (const [block, blockPath] of readBlocks(message, 'content', path)) {
    const part = parseAssistantPart(block, blockPath, names);
    if (part !== undefined) parts.push([part, blockPath]);
  }
  if (parts.every(([part]) => part.type === 'reasoning')) return;
  for (const [part, partPath] of parts) {
    if (part.type === 'tool-call') conversation.addCall(part, partPath);
    else conversation.addAssistant(part);
  }
}

/** Types of blocks that a vendor's server leaves behind, in conversations that began there: of its tools, and of a change of the model. */
const SERVER_BLOCK = /^(server_tool_use|mcp_tool_use|mcp_tool_listing|fallback|[a-z_]+_tool_result)$/;

/** Parses a block of an assistant message. Returns undefined for dropped blocks. Thinking is kept for upstreams that require it. */
function parseAssistantPart(block: JsonObject, path: string, names: WireNames): AssistantTurn['parts'][number] | undefined {
  const type = readName(block, 'type', path);
  switch (type) {
    case 'text': {
      const text = readString(block, 'text', path);
      return text === '' ? undefined : { type: 'text', text };
    }
    case 'tool_use':
      return parseToolUse(block, path, names);
    case 'thinking': {
      const text = readOptionalString(block, 'thinking', path);
      return text ? { type: 'reasoning', text } : undefined;
    }
    case 'redacted_thinking':
      return undefined;
    default:
      if (SERVER_BLOCK.test(type)) return undefined;
      throw invalidField(`${path}.type`, 'must be one of text, tool_use, thinking, redacted_thinking');
  }
}

function parseToolUse(block: JsonObject, path: string, names: WireNames): ToolCallPart {
  const callId = safeCallId(readName(block, 'id', path));
  const tool = { name: readName(block, 'name', path) };
  const argumentsText = JSON.stringify(readOptionalObject(block, 'input', path) ?? {});
  return { type: 'tool-call', callId, tool, wireName: names.nameFor(tool), argumentsText, kind: 'function' };
}

/** Parses a tool result. A result without content becomes an empty text. */
function parseToolResult(block: JsonObject, path: string): ToolResult {
  const callId = safeCallId(readName(block, 'tool_use_id', path));
  const parts: ToolResult['parts'] = [];
  if (!isAbsent(block.content)) {
    for (const [inner, innerPath] of readBlocks(block, 'content', path)) for (const part of parsePart(inner, innerPath)) parts.push(part);
  }
  if (parts.length === 0) parts.push({ type: 'text', text: '' });
  const isError = readOptionalBoolean(block, 'is_error', path) || undefined;
  return { callId, parts, isError };
}

/** Parses a block of a user message or tool result. Returns no part for an empty text, which upstreams refuse. */
function parsePart(block: JsonObject, path: string): (TextPart | ImagePart)[] {
  const type = readName(block, 'type', path);
  switch (type) {
    case 'text':
      return textParts(readString(block, 'text', path));
    case 'image':
      return [parseImage(block, path)];
    case 'search_result':
      return textParts(searchResultText(block, path));
    case 'tool_reference':
      return textParts(`Tool available: ${readName(block, 'tool_name', path)}`);
    case 'document':
    case 'container_upload':
      throw new GatewayError('unsupported_content', `\`${path}.type\` must be text or image: documents and files are not accepted.`, {
        param: `${path}.type`,
      });
    default:
      throw invalidField(`${path}.type`, 'must be one of text, image, tool_result');
  }
}

function textParts(text: string): TextPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function searchResultText(block: JsonObject, path: string): string {
  const texts = readArray(block, 'content', path).map((value, index) => {
    const textPath = `${path}.content[${index}]`;
    return readString(asObject(value, textPath), 'text', textPath);
  });
  return [readOptionalString(block, 'title', path), readOptionalString(block, 'source', path), ...texts].filter(Boolean).join('\n');
}

function parseImage(block: JsonObject, path: string): ImagePart {
  const source = readObject(block, 'source', path);
  const sourcePath = `${path}.source`;
  const param = `${sourcePath}.type`;
  switch (readName(source, 'type', sourcePath)) {
    case 'base64': {
      const mediaType = readString(source, 'media_type', sourcePath);
      return { type: 'image', ...parseBase64Image(mediaType, readString(source, 'data', sourcePath), sourcePath) };
    }
    case 'url':
      // The format's errors have no code, so the message names it.
      throw new GatewayError('image_url_not_supported', `\`${param}\` must be base64: links are not fetched (image_url_not_supported).`, {
        param,
      });
    case 'file':
      throw new GatewayError('unsupported_content', `\`${param}\` must be base64: files are not accepted.`, { param });
    default:
      throw invalidField(param, 'must be base64');
  }
}

/** Returns the blocks of `owner[field]` with their paths. A string is one text block. */
function readBlocks(owner: JsonObject, field: string, path: string): [block: JsonObject, path: string][] {
  const value = owner[field];
  const blocksPath = fieldPath(path, field);
  if (typeof value === 'string') return [[{ type: 'text', text: value }, blocksPath]];
  if (!Array.isArray(value)) throw invalidField(blocksPath, isAbsent(value) ? 'is required' : 'must be a string or an array of blocks');
  return value.map((block, index) => {
    const blockPath = `${blocksPath}[${index}]`;
    return [asObject(block, blockPath), blockPath];
  });
}
