import type { ChatMessage, ChatRequest } from '../chat-request.js';

/** Prompt tokens of an image of any size. */
export const TOKENS_PER_IMAGE = 256;

export const BYTES_PER_TOKEN = 4;

/** A text of n UTF-8 bytes is ⌈n / 4⌉ tokens. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/**
 * Prompt tokens of a request: the sum of `countTokens` over
 *
 * - each message's text (a string, or all its text parts joined), whatever its role, directives included;
 * - each earlier tool call: name and arguments joined;
 * - each offered tool: name, description and parameters (as compact JSON) joined;
 * - a `json_schema` response format's schema (as compact JSON);
 *
 * plus `TOKENS_PER_IMAGE` an image. Roles, ids and earlier reasoning count nothing. At least 1.
 */
export function promptTokens(request: Pick<ChatRequest, 'messages' | 'tools' | 'response_format'>): number {
  let sum = 0;
  for (const { tokens } of promptTexts(request)) sum += tokens;
  return Math.max(1, sum);
}

/** A text of a prompt that counts, with the role of its message or another word for its kind. The text of an image is its URL. */
interface PromptText {
  kind: string;
  text: string;
  tokens: number;
}

/** The texts of a prompt in the order in which a model reads them: tools, schema, messages. */
export function* promptTexts(request: Pick<ChatRequest, 'messages' | 'tools' | 'response_format'>): Generator<PromptText> {
  for (const { function: tool } of request.tools ?? []) {
    yield counted('tool', tool.name + (tool.description ?? '') + (tool.parameters ? JSON.stringify(tool.parameters) : ''));
  }
  const schema = request.response_format?.json_schema?.schema;
  if (schema) yield counted('schema', JSON.stringify(schema));
  for (const message of request.messages) {
    yield counted(message.role, messageText(message));
    for (const text of messageImages(message)) yield { kind: 'image', text, tokens: TOKENS_PER_IMAGE };
    for (const { function: call } of message.tool_calls ?? []) yield counted('call', call.name + call.arguments);
  }
}

function counted(kind: string, text: string): PromptText {
  return { kind, text, tokens: countTokens(text) };
}

/** Completion tokens of a reply: the sum of `countTokens` over its text, its reasoning and each call. */
export function completionTokens({ text, reasoning = '', calls = [] }: { text: string; reasoning?: string; calls?: Call[] }): number {
  return countTokens(text) + countTokens(reasoning) + calls.reduce((sum, call) => sum + countTokens(call.name + call.arguments), 0);
}

interface Call {
  name: string;
  arguments: string;
}

/** The joined text parts of a message. */
export function messageText(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The data URLs of a message's images. */
export function messageImages(message: ChatMessage): string[] {
  if (!Array.isArray(message.content)) return [];
  return message.content.flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []));
}
