import type { ChatMessage, ChatPart, ChatRequest } from './chat-request.js';
import { SimError } from './sim-error.js';

type Json = Record<string, unknown>;

/** Features other than body fields that a directive can refuse, by name: each test returns true when a request uses the feature. */
export const ABILITIES: Record<string, (chat: ChatRequest, body: Json) => boolean> = {
  plain: ({ stream }) => stream !== true,
  images: ({ messages }) => messages.some(({ content }) => Array.isArray(content) && content.some(isImage)),
  'json-schema': ({ response_format: format }) => format?.type === 'json_schema',
  'strict-tools': (_chat, { tools }) => Array.isArray(tools) && tools.some((tool: Json) => isStrict(tool) || isStrict(tool.function)),
  developer: ({ messages }, { input }) => messages.some(isDeveloper) || (Array.isArray(input) && input.some(isDeveloper)),
  system: ({ messages }) => messages.some(isSystem),
  'late-system': ({ messages }) => messages.findLastIndex(isSystem) > 0,
  'same-role': ({ messages }) => {
    const roles = messages.filter((message) => !isSystem(message)).map(({ role }) => role);
    return roles[0] === 'assistant' || roles.some((role, index) => role !== 'tool' && role === roles[index - 1]);
  },
  'long-call-ids': ({ messages }) => messages.some(({ tool_calls: calls }) => calls?.some(({ id }) => !/^[A-Za-z0-9]{9}$/.test(id))),
  'forced-choice': ({ tool_choice: choice }) => choice === 'required' || (typeof choice === 'object' && choice !== null),
  'no-instructions': (_chat, { instructions }) => typeof instructions !== 'string' || instructions === '',
  'prompt-cache-key': ({ prompt_cache_key: key }) => key != null,
  'cache-salt': ({ cache_salt: salt }) => salt != null,
  'cache-control': ({ cache_control: markers }) => markers !== undefined,
  'no-signature': (_chat, { contents }) => Array.isArray(contents) && contents.some(isUnsigned),
  'no-echo': ({ messages }) => messages.some((message) => message.tool_calls !== undefined && !('reasoning_content' in message)),
};

/**
 * Refuses a request that uses one of `names`: fields of the body or keys of `ABILITIES`, separated by commas.
 *
 * @throws SimError naming the first that the request uses
 */
export function refuseAbilities(chat: ChatRequest, bodyText: string, names: string | undefined): void {
  if (names === undefined) return;
  const body = JSON.parse(bodyText) as Json;
  for (const name of names.split(',')) {
    const { [name]: field = ((body.generationConfig ?? body.inferenceConfig) as Json | undefined)?.[name] } = body;
    const isUsed = ABILITIES[name]?.(chat, body) ?? (field !== undefined && field !== null);
    if (isUsed) throw SimError.invalid(`Unsupported parameter: '${name}' is not supported with this model.`, name, 'unsupported_parameter');
  }
}

/** Returns the request without these fields (named as in chat, with `_` or `-`) or without its `images`, as a server sees it that ignores them. */
export function ignoreAbilities(chat: ChatRequest, names: string | undefined): ChatRequest {
  if (names === undefined) return chat;
  const ignored = names.split(',');
  const isKept = ([name]: [string, unknown]): boolean => !ignored.includes(name) && !ignored.includes(name.replaceAll('_', '-'));
  const kept = Object.fromEntries(Object.entries(chat).filter(isKept)) as unknown as ChatRequest;
  return ignored.includes('images') ? { ...kept, messages: kept.messages.map(withoutImages) } : kept;
}

function isImage(part: ChatPart): boolean {
  return part.type === 'image_url';
}

function isStrict(tool: unknown): boolean {
  return typeof tool === 'object' && tool !== null && (tool as Json).strict === true;
}

/** True for a content of the model whose first call has no signature. */
function isUnsigned({ parts }: { parts?: Json[] }): boolean {
  const call = parts?.find(({ functionCall }) => functionCall !== undefined);
  return call !== undefined && call.thoughtSignature === undefined;
}

function isDeveloper(message: unknown): boolean {
  return typeof message === 'object' && message !== null && (message as Json).role === 'developer';
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

function withoutImages(message: ChatMessage): ChatMessage {
  return Array.isArray(message.content) ? { ...message, content: message.content.filter((part) => !isImage(part)) } : message;
}
